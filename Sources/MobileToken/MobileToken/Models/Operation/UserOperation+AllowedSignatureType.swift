import ExactJSON
package import PowerAuthClient

extension UserOperation {
    /// The factors required to sign an operation.
    package struct AllowedSignatureType: Sendable, Hashable {
        /// The number of factors that the server requires.
        package enum Kind: String, Sendable, Hashable {
            /// One factor.
            case singleFactor = "1FA"
            /// Two factors.
            case twoFactors = "2FA"
            /// An asymmetric signature.
            case ecdsa = "ECDSA"
        }

        /// A combination of factors that the server accepts.
        package enum Variant: String, Sendable, Hashable, CaseIterable {
            /// Possession: the activation only.
            case possession
            /// The activation and the password.
            case possessionKnowledge = "possession_knowledge"
            /// The activation and the biometry key.
            case possessionBiometry = "possession_biometry"
        }

        /// The number of factors that the server requires.
        package let kind: Kind
        /// The accepted combinations, in the server's order, without those unknown to this version. Most servers list none for a
        /// single factor.
        package let variants: [Variant]

        /// Two factors, with the password or the biometry key.
        package static let twoFactors = Self(kind: .twoFactors, variants: [.possessionKnowledge, .possessionBiometry])

        /// Creates a requirement.
        package init(kind: Kind, variants: [Variant]) {
            self.kind = kind
            self.variants = variants
        }

        /// The accepted combinations: for a single factor only possession, whatever ``variants`` says.
        package var acceptedVariants: [Variant] { self.kind == .singleFactor ? [.possession] : self.variants }

        /// Indicates whether the biometry key may sign.
        package var isBiometryAllowed: Bool { self.acceptedVariants.contains(.possessionBiometry) }

        /// Indicates whether any combination of factors is accepted.
        package var isAuthorizable: Bool { !self.acceptedVariants.isEmpty }

        /// Returns whether the server accepts a signature made with these factors.
        ///
        /// A single factor is possession, whatever variants the server lists: most list none, and count any other signature as a
        /// failed attempt on the operation.
        package func allows(_ authentication: Activation.Authentication) -> Bool {
            self.acceptedVariants.contains(Variant(authentication))
        }
    }
}

extension UserOperation.AllowedSignatureType.Variant {
    /// Creates the combination of factors in an authentication.
    package init(_ authentication: Activation.Authentication) {
        if authentication.knowledge != nil {
            self = .possessionKnowledge
        } else if authentication.biometryKey != nil {
            self = .possessionBiometry
        } else {
            self = .possession
        }
    }
}

extension UserOperation.AllowedSignatureType {
    /// Reads the factors. An unknown kind is refused, because the factors to sign with are then unknown; an unknown variant is
    /// left out.
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.kind = try view.required("type", .known, log)
        let variants = view.optional("variants", .array, &log)
        self.variants = log.inside("variants") { log in
            variants.map { variants in
                log.elements(of: variants) { (view, log) throws(DecodingIssue) in
                    let form = Form<Variant>.known
                    if let variant = form.read(view) { return variant }
                    throw log.issue(.unreadable(expected: form.name), at: view)
                }
            } ?? []
        }
    }
}
