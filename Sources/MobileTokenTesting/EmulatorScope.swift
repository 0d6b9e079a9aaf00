public import MobileToken
public import MobileTokenEmulator

/// Runs a test against a server of its own, which is stopped at the end, also when the test throws.
///
/// ```swift
/// @Test func anOperationIsApproved() async throws {
///     try await withEmulator { emulator in
///         let activation = try await emulator.activate(user: "alice", password: "1234")
///         let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
///         …
///         #expect(try await emulator.cloud.operation(payment.id).status == "APPROVED")
///     }
/// }
/// ```
public func withEmulator<Result>(
    configuration: Emulator.Configuration = Emulator.Configuration(),
    _ body: (Emulator) async throws -> Result
) async throws -> Result {
    let emulator = try await Emulator.start(configuration: configuration)
    do {
        let result = try await body(emulator)
        await emulator.stop()
        return result
    } catch {
        await emulator.stop()
        throw error
    }
}

extension Emulator {
    /// A client of this server, which keeps its activations in memory unless told otherwise.
    ///
    /// - Parameter configure: Changes what the client is made with.
    public func makeClient(
        _ configure: (inout MobileTokenClient.Configuration) throws -> Void = { _ in }
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        configuration.store = InMemoryActivationStore()
        try configure(&configuration)
        return try MobileTokenClient(
            baseURL: self.baseURL,
            sdkConfiguration: self.sdkConfiguration,
            configuration: configuration
        )
    }

    /// An activation of a user, committed and ready to sign.
    ///
    /// - Parameters:
    ///   - flags: What the server marks the activation with.
    ///   - client: Who activates; a client of its own when there is none.
    public func activate(
        user: String,
        password: String,
        flags: [String] = [],
        client: MobileTokenClient? = nil
    ) async throws -> Activation {
        let registration = try await self.cloud.register(userID: user, flags: flags)
        let client = try client ?? self.makeClient()
        let activation = try await client.activate(
            code: registration.activationQRCode,
            name: "\(user)'s device",
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
