public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// A client of this server, which keeps its activations in memory unless told otherwise, and trusts the server's
    /// certificate when it has one.
    ///
    /// ```swift
    /// let client = try emulator.makeClient { $0.version = .v3_1 }
    /// ```
    ///
    /// - Parameter configure: Changes what the client is made with.
    /// - Throws: What `configure` throws, or `MobileTokenError` when an option cannot be used,
    ///   or `HTTPTransportError` when the certificate cannot be read.
    public func makeClient(
        _ configure: (inout MobileTokenClient.Configuration) throws -> Void = { _ in }
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = InMemoryActivationStore()
        configuration.allowsInsecureHTTP = true  // wherever it listens, it is a development server
        if let certificate = self.certificate {
            var transport = CurlTransport.Configuration()
            transport.tls.validation = .certificateAuthority(file: certificate.file)
            configuration.transport = try CurlTransport(configuration: transport)
        }
        try configure(&configuration)
        return try MobileTokenClient(
            baseURL: self.baseURL,
            sdkConfiguration: self.sdkConfiguration,
            configuration: configuration
        )
    }

    /// An activation that is ready to sign: registered, activated and committed.
    ///
    /// - Parameters:
    ///   - flags: What the server marks the activation with.
    ///   - client: Who activates; a client of its own when there is none.
    /// - Throws: `EmulatorError` or `MobileTokenError`.
    public func makeActivation(
        user: String,
        password: String,
        name: String? = nil,
        flags: [String] = [],
        client: MobileTokenClient? = nil
    ) async throws -> Activation {
        let client = try client ?? self.makeClient()
        let registration = try await self.cloud.register(userID: user, flags: flags)
        let activation = try await client.activate(
            code: registration.activationQRCode,
            name: name,
            password: password
        )
        try await self.cloud.commit(registration.id)
        return activation
    }

    /// What the server knows of an activation.
    public func summary(of activation: Activation) async -> ActivationSummary? {
        await self.activations().first { $0.id == activation.activationID }
    }
}
