/// A kind of signing key.
package enum SignatureFactor: String, Sendable, Hashable, CaseIterable, Codable {
    /// Something you have: the activation itself.
    case possession
    /// Something you know: the password.
    case knowledge
    /// Something you are; in a server process, a key held outside the activation.
    case biometry
}

/// The factors that sign a request, with their name in the header.
package enum SignatureType: String, Sendable, Hashable, CaseIterable, Codable {
    case possession
    case knowledge
    /// The external key alone.
    case biometry
    case possessionKnowledge = "possession_knowledge"
    /// The activation and the external key.
    case possessionBiometry = "possession_biometry"
    case possessionKnowledgeBiometry = "possession_knowledge_biometry"

    /// The factors in the order of a signature's components.
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

    /// Parses the name in a header. Case-insensitive.
    package init?(headerValue: String) {
        guard headerValue.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }  // lower-casing folds others into ASCII
        self.init(rawValue: headerValue.lowercased())
    }
}
