import PowerAuthProtocol

/// The servers' standard calls. Columns: path, proof, encryption, order, wrapping of request and response; or, for those with a
/// code: path, factors, envelope, wrapping.
extension ServerEndpoint {
    // MARK: Nothing proves the sender

    static let serverStatus = Self(.versions3And4("/status"), .none, nil, .signThenEncrypt, .both)
    static let temporaryKey = Self(.versions3And4("/keystore/create"), .none, nil, .signThenEncrypt, .both)
    /// The outer layer; the inner one uses ``SharedInfo/activation``.
    static let activationCreate = Self(.versions3And4("/activation/create"), .none, .application(.generic))
    static let activationStatus3 = Self(.version3("/activation/status"), .none, nil, .signThenEncrypt, .both)
    static let activationStatus4 = Self(.version4("/activation/status"), .none, .activation(.generic))
    package static let userInfo = Self(.versions3And4("/user/info"), .none, .activation(.generic))
    package static let oidcConfiguration = Self(
        .path("/api/config/oidc"),
        .none,
        .application(.generic),
        .signThenEncrypt,
        .response
    )
    package static let applicationConfiguration = Self(.version4("/config/application"), .none, .application(.generic))
    package static let activationConfiguration = Self(.version4("/config/activation"), .none, .activation(.generic))

    // MARK: A token

    /// The token is named after its factors.
    static func activationDetail(with factors: SignatureType) -> Self {
        Self(
            .versions3And4("/activation/detail"),
            .token(name: factors.rawValue, factors),
            .activation(.generic),
            .signThenEncrypt,
            .response
        )
    }

    // MARK: A code

    static let validate3 = Self(.version3("/signature/validate"), code: .any)
    static let validate4 = Self(.version4("/auth/validate"), code: .any, .both)
    /// Some servers are configured to accept possession alone.
    static let activationRemove = Self(.versions3And4("/activation/remove"), code: .any, .both)
    static let activationRename = Self(
        .versions3And4("/activation/rename"),
        .code(uriID: "/pa/activation/rename", .twoOrMore),
        .activation(.generic),
        .signThenEncrypt,
        .response
    )
    static let activationConfirm = Self(.version4("/activation/confirm"), code: .withKnowledge, .both)
    package static let activationCode = Self(
        .path("/api/activation/code"),
        .code(uriID: "/api/activation/code", .twoOrMore),
        .activation(.generic),
        .signThenEncrypt,
        .both
    )
    static let tokenCreate = Self(.versions3And4("/token/create"), code: .any, in: .activation(.tokenCreate))
    static let tokenRemove = Self(.versions3And4("/token/remove"), code: .any, .both)
    /// The required factors depend on the key and the server's configuration.
    static let vaultUnlock = Self(.versions3And4("/vault/unlock"), code: .twoOrMore, in: .activation(.vaultUnlock))
    static let passwordChange = Self(
        .version4("/password/change"),
        code: .withKnowledge,
        in: .activation(.passwordChange)
    )
    static let biometryAdd = Self(.version4("/biometry/add"), code: .withKnowledge, in: .activation(.biometryAdd))
    static let biometryRemove = Self(.version4("/biometry/remove"), code: .possession, .both)
    /// The code is of version 3, the envelope of version 4.
    static let upgradeStart = Self(.version4("/upgrade/start"), code: .withKnowledge, in: .application(.upgradeStart))
    static let upgradeConfirm = Self(.version4("/upgrade/confirm"), code: .possession, .both)
    static let recoveryConfirm = Self(
        .version3("/recovery/confirm"),
        code: .withKnowledge,
        in: .activation(.recoveryConfirm)
    )
}
