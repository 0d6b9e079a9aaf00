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

        /// Creates an endpoint that takes a code, which covers the path without the version.
        private init(
            _ path: String,
            code types: Set<AuthenticationCodeType>,
            _ encryption: EncryptionPurpose? = nil
        ) {
            self.init(path, .code(uriID: "/pa" + path, types: types), encryption)
        }

        private static let withPassword: Set<AuthenticationCodeType> = [.possessionKnowledge]
        private static let twoFactors: Set<AuthenticationCodeType> = [.possessionKnowledge, .possessionBiometry]
        private static let anyFactors = Set(AuthenticationCodeType.allCases)

        package static let temporaryKey = Self("/keystore/create", .none, nil)
        package static let serverStatus = Self("/status", .none, nil)
        package static let activationStatus = Self("/activation/status", .none, .genericActivation)
        /// The outer layer; the inner one uses ``EncryptionPurpose/activation``.
        package static let activationCreate = Self("/activation/create", .none, .genericApplication)
        package static let activationConfirm = Self("/activation/confirm", code: Self.withPassword)
        package static let activationRemove = Self("/activation/remove", code: Self.twoFactors)
        package static let validate = Self("/auth/validate", code: Self.anyFactors)
        /// The allowed types depend on the key: see ``VaultKeyIdentifier/allowedTypes``.
        package static let vaultUnlock = Self("/vault/unlock", code: Self.twoFactors, .vaultUnlock)
        package static let tokenCreate = Self("/token/create", code: Self.anyFactors, .tokenCreate)
        package static let tokenRemove = Self("/token/remove", code: Self.anyFactors)
        package static let passwordChange = Self("/password/change", code: Self.withPassword, .passwordChange)
        package static let biometryAdd = Self("/biometry/add", code: Self.withPassword, .biometryAdd)
        package static let biometryRemove = Self("/biometry/remove", code: [.possession])
        package static let upgradeStart = Self(
            "/upgrade/start",
            .version3Code(uriID: "/pa/upgrade/start"),
            .upgradeStart
        )
        package static let upgradeConfirm = Self("/upgrade/confirm", code: [.possession])
    }
}
