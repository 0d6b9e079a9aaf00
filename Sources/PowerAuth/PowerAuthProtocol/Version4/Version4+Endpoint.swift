extension Version4 {
    /// A version 4 endpoint: its path, authentication, and encryption purpose.
    package struct Endpoint: Sendable, Equatable {
        package enum Authentication: Sendable, Equatable {
            /// None except encryption, if any.
            case none
            /// A code of one of these types over this `uriId`.
            case code(uriID: String, types: Set<AuthenticationCodeType>)
            /// A version 3 code with two factors over this `uriId`.
            case version3Code(uriID: String)
        }

        package let path: String
        package let authentication: Authentication
        /// `nil` for unencrypted bodies.
        package let encryption: EncryptionPurpose?

        private init(_ path: String, _ authentication: Authentication, _ encryption: EncryptionPurpose?) {
            self.path = "/pa/v4" + path
            self.authentication = authentication
            self.encryption = encryption
        }

        private static let withPassword: Set<AuthenticationCodeType> = [.possessionKnowledge]
        private static let twoFactors: Set<AuthenticationCodeType> = [.possessionKnowledge, .possessionBiometry]
        private static let anyFactors = Set(AuthenticationCodeType.allCases)

        package static let temporaryKey = Self("/keystore/create", .none, nil)
        package static let serverStatus = Self("/status", .none, nil)
        package static let activationStatus = Self("/activation/status", .none, .genericActivation)
        /// The outer layer; the inner one uses ``EncryptionPurpose/activation``.
        package static let activationCreate = Self("/activation/create", .none, .genericApplication)
        package static let activationConfirm = Self(
            "/activation/confirm",
            .code(uriID: "/pa/activation/confirm", types: Self.withPassword),
            nil
        )
        package static let activationRemove = Self(
            "/activation/remove",
            .code(uriID: "/pa/activation/remove", types: Self.twoFactors),
            nil
        )
        package static let validate = Self(
            "/auth/validate",
            .code(uriID: "/pa/auth/validate", types: Self.anyFactors),
            nil
        )
        /// The allowed types depend on the key: see ``VaultKeyIdentifier/allowedTypes``.
        package static let vaultUnlock = Self(
            "/vault/unlock",
            .code(uriID: "/pa/vault/unlock", types: Self.twoFactors),
            .vaultUnlock
        )
        package static let tokenCreate = Self(
            "/token/create",
            .code(uriID: "/pa/token/create", types: Self.anyFactors),
            .tokenCreate
        )
        package static let tokenRemove = Self(
            "/token/remove",
            .code(uriID: "/pa/token/remove", types: Self.anyFactors),
            nil
        )
        package static let passwordChange = Self(
            "/password/change",
            .code(uriID: "/pa/password/change", types: Self.withPassword),
            .passwordChange
        )
        package static let biometryAdd = Self(
            "/biometry/add",
            .code(uriID: "/pa/biometry/add", types: Self.withPassword),
            .biometryAdd
        )
        package static let biometryRemove = Self(
            "/biometry/remove",
            .code(uriID: "/pa/biometry/remove", types: [.possession]),
            nil
        )
        package static let upgradeStart = Self(
            "/upgrade/start",
            .version3Code(uriID: "/pa/upgrade/start"),
            .upgradeStart
        )
        package static let upgradeConfirm = Self(
            "/upgrade/confirm",
            .code(uriID: "/pa/upgrade/confirm", types: [.possession]),
            nil
        )
    }
}
