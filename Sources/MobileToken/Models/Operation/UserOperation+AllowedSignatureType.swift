import ExactJSON
public import PowerAuth
import PowerAuthProtocol

extension UserOperation {
    /// The factors that an operation must be signed with.
    public struct AllowedSignatureType: Sendable, Hashable {
        /// The number of factors that the server asks for.
        public enum Kind: String, Sendable, Hashable, Codable {
            /// One factor.
            case singleFactor = "1FA"
            /// Two factors.
            case twoFactors = "2FA"
            /// An asymmetric signature.
            case ecdsa = "ECDSA"
        }

        /// A combination of factors that the server accepts.
        public enum Variant: String, Sendable, Hashable, Codable, CaseIterable {
            /// The activation alone.
            case possession
            /// The activation and the password.
            case possessionKnowledge = "possession_knowledge"
            /// The activation and the biometry key.
            case possessionBiometry = "possession_biometry"
        }

        /// The number of factors that the server asks for.
        public let kind: Kind
        /// The combinations that the server accepts, in its order. Those that this version does not know are left out.
        public let variants: [Variant]

        /// Creates a requirement.
        public init(kind: Kind, variants: [Variant]) {
            self.kind = kind
            self.variants = variants
        }

        /// Indicates whether the biometry key may sign.
        public var isBiometryAllowed: Bool { self.variants.contains(.possessionBiometry) }

        /// Indicates whether there is any combination of factors to sign with.
        public var isAuthorizable: Bool { !self.variants.isEmpty }

        /// Returns whether the server accepts a signature made with these factors.
        public func allows(_ authentication: Authentication) -> Bool {
            self.variants.contains(Variant(authentication))
        }
    }
}

extension UserOperation.AllowedSignatureType.Variant {
    /// Creates the combination that an authentication stands for.
    public init(_ authentication: Authentication) {
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
    /// Reads the factors. An unknown kind is refused, because we would not know what to sign with; an unknown variant
    /// is only left out.
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
