import PowerAuthProtocol

/// The encryption of requests in the scope of the application, which all activations of a client share.
final class ApplicationEncryption: Sendable {
    let version3: EncryptionKeys<ECIESScheme>
    /// The one for requests that belong to no activation, and for new activations.
    let standard: any RequestEncryption

    init(server: ServerConnection) {
        self.version3 = EncryptionKeys(
            ECIESScheme(
                scope: .application(masterPublicKey: server.application.masterPublicKey),
                version: server.configuration.version
            ),
            server: server
        )
        self.standard = self.version3
    }
}
