import PowerAuthProtocol

/// The device's half of the version 4 keys of a new activation.
struct Version4NewKeys: NewActivationKeys {
    private let keys: NewKeys
    private let server: ServerConnection

    init(_ scheme: Version4Scheme, _ server: ServerConnection) throws {
        self.keys = try NewKeys(suite: scheme.suite)
        self.server = server
    }

    static func isSigned(_ code: ActivationCode, for application: SDKConfiguration) -> Bool {
        guard let key = application.version4MasterPublicKeys?.ecdsa else { return false }
        return code.isSigned(by: key)
    }

    func encode(_ request: ActivationRequest) throws -> [UInt8] {
        try Wire.encode(
            Version4.ActivationRequestContent(
                sharedSecretRequest: self.keys.agreement.request,
                devicePublicKeys: self.keys.deviceKeys.publicKeys,
                activationName: request.name ?? request.deviceInfo,  // version 4 demands one
                activationOtp: request.otp,
                platform: request.platform,
                deviceInfo: request.deviceInfo,
                extras: request.extras
            )
        )
    }

    func decode(_ response: [UInt8], of path: String) throws -> Version4.ActivationResponseContent {
        try Wire.decode(Version4.ActivationResponseContent.self, from: response, of: path)
    }

    func keys(
        with serverHalf: Version4.ActivationResponseContent,
        of path: String,
        protection: NewKeyProtection
    ) throws -> (VersionedKeys, SigningCounter) {
        let keys = try self.keys.keys(
            of: serverHalf.activationID,
            from: serverHalf.keys,
            path: path,
            protection: protection,
            pending: .activation,
            randomness: self.server.randomness
        )
        return (.version4(keys), .version4(Version4.HashCounter(data: serverHalf.keys.counterData)))
    }
}

extension Version4.ActivationResponseContent: NewActivationResponse {
    /// Version 4 has no recovery codes.
    var recovery: RecoveryCode? { nil }
}
