/// A kind of key that a signature can be made with.
package enum SignatureFactor: String, Sendable, Hashable, CaseIterable, Codable {
    /// Something you have: the activation itself.
    case possession
    /// Something you know: the password.
    case knowledge
    /// Something you are; in a server process, a key held outside the activation.
    case biometry
}

/// The factors that sign a request, under the name that goes into the request's header.
package enum SignatureType: String, Sendable, Hashable, CaseIterable, Codable {
    /// The activation alone.
    case possession
    /// The password alone.
    case knowledge
    /// The external key alone.
    case biometry
    /// The activation and the password.
    case possessionKnowledge = "possession_knowledge"
    /// The activation and the external key.
    case possessionBiometry = "possession_biometry"
    /// All three.
    case possessionKnowledgeBiometry = "possession_knowledge_biometry"

    /// The factors, in the order of their components in a signature.
    package var factors: [SignatureFactor] {
        switch self {
        case .possession: [.possession]
        case .knowledge: [.knowledge]
        case .biometry: [.biometry]
        case .possessionKnowledge: [.possession, .knowledge]
        case .possessionBiometry: [.possession, .biometry]
        case .possessionKnowledgeBiometry: [.possession, .knowledge, .biometry]
        }
    }

    /// Reads the name in a header. Case-insensitive.
    package init?(headerValue: String) {
        guard headerValue.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }  // lower-casing folds others into ASCII
        self.init(rawValue: headerValue.lowercased())
    }
}
