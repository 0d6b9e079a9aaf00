public import MobileToken
public import MobileTokenEmulator

extension Emulator {
    /// A client of this server that keeps its activations in memory.
    ///
    /// - Throws: ``MobileTokenError`` when the server's configuration is not understood.
    public func makeClient() throws -> PowerAuthClient {
        PowerAuthClient(
            try PowerAuthConfiguration(
                baseURL: self.baseURL,
                sdkConfiguration: self.sdkConfiguration,
                transport: try CurlTransport(),
                store: InMemoryActivationStore()
            )
        )
    }

    /// An activation that is ready to sign: registered, activated and committed.
    ///
    /// - Throws: ``EmulatorError`` or ``MobileTokenError``.
    public func makeActivation(
        user: String,
        password: String,
        name: String? = nil,
        client: PowerAuthClient? = nil
    ) async throws -> Activation {
        let client = try client ?? self.makeClient()
        let registration = try await self.cloud.register(userID: user)
        let activation = try await client.activate(
            code: registration.activationQRCode,
            name: name,
            password: password
        )
        try await self.cloud.commit(registration.id)
        return activation
    }
}
