import HTTPClientTransport
public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// Creates a client of this server that keeps its activations in memory by default, and trusts the server's certificate if it
    /// has one.
    ///
    /// ```swift
    /// let client = try emulator.makeClient { $0.version = .v3_1 }
    /// ```
    ///
    /// - Parameter configure: Changes the client's configuration.
    /// - Throws: An error of `configure`, `MobileTokenError` for an unusable option, or `HTTPTransportError` if the certificate
    ///   is unreadable.
    public func makeClient(
        _ configure: (inout MobileTokenClient.Configuration) throws -> Void = { _ in }
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = ActivationStore.inMemory()
        configuration.allowsInsecureHTTP = true  // it is a development server, at any address
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

    /// Creates an activation that is ready to sign: registered, activated and committed.
    ///
    /// - Parameters:
    ///   - user: The user at the bank.
    ///   - password: The password of the second factor.
    ///   - name: The name of the device.
    ///   - flags: The server's flags of the activation.
    ///   - client: The client that activates; a new one by default.
    /// - Throws: `EmulatorError` or `MobileTokenError`.
    public func makeActivation(
        user: String,
        password: String,
        name: String? = nil,
        flags: [String] = [],
        client: MobileTokenClient? = nil
    ) async throws -> Activation {
        let client = try client ?? self.makeClient()
        let registration = try await self.cloud.register(
            userID: user,
            flags: flags,
            protocolVersion: client.configuration.version.rawValue
        )
        let activation = try await client.activate(
            code: registration.activationQRCode,
            name: name,
            password: password
        )
        try await self.cloud.commitRegistration(registration.id)
        return activation
    }

    /// Returns the server's view of an activation.
    public func summary(of activation: Activation) async -> ActivationSummary? {
        await self.activations().first { $0.id == activation.activationID }
    }
}
