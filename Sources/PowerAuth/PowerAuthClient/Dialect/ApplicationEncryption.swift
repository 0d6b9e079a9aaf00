import PowerAuthProtocol

/// The encryption in the application scope, shared by all activations of a client.
final class ApplicationEncryption: Sendable {
    let version3: EncryptionKeys<ECIESScheme>
    private let version4Keys: [AlgorithmSuite: EncryptionKeys<Version4Scheme>]
    /// The encryption for new activations and requests without an activation.
    let standard: any RequestEncryption
    let server: ServerConnection

    /// - Throws: ``MobileTokenError/Code/suiteUnavailable``, and ``MobileTokenError/Code/invalidConfiguration``.
    init(server: ServerConnection) throws(MobileTokenError) {
        let (version, suite) = (server.configuration.version, server.configuration.suite)
        let version4 = AlgorithmSuite.allCases.map { suite in
            (suite, EncryptionKeys(Version4Scheme(scope: .application, suite: suite), server: server))
        }
        self.server = server
        self.version3 = EncryptionKeys(
            ECIESScheme(
                scope: .application(masterPublicKey: server.application.masterPublicKey),
                version: version.isVersion3 ? version : .v3_3
            ),
            server: server
        )
        self.version4Keys = Dictionary(uniqueKeysWithValues: version4)
        guard !version.isVersion3, let standard = self.version4Keys[suite] else {
            self.standard = self.version3
            return
        }
        // An unusable suite is reported here, not at the first request.
        _ = try server.application.masterPublicKeys(of: suite)
        self.standard = standard
    }

    func version4(_ suite: AlgorithmSuite) -> EncryptionKeys<Version4Scheme> {
        self.version4Keys[suite]
            ?? EncryptionKeys(Version4Scheme(scope: .application, suite: suite), server: self.server)
    }

    /// Returns the creation of an activation in the client's protocol version.
    func newActivation(_ request: ActivationRequest) -> any NewActivation {
        if self.server.configuration.version.isVersion3 {
            return ActivationCreation<Version3NewKeys>(
                request: request,
                server: self.server,
                encryptionKeys: self.version3
            )
        }
        return ActivationCreation<Version4NewKeys>(
            request: request,
            server: self.server,
            encryptionKeys: self.version4(self.server.configuration.suite)
        )
    }
}
