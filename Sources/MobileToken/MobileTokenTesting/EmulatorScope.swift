public import MobileTokenEmulator

/// Runs `body` with a new development server on a free port, and stops the server at the end.
///
/// ```swift
/// @Test func theBotApprovesSmallPayments() async throws {
///     try await withEmulator { emulator in
///         let activation = try await emulator.makeActivation(user: "alice", password: "1234")
///         let operation = try await emulator.cloud.createOperation("payment", userID: "alice").id
///         try await ApprovalBot(activation).runOnce()
///         #expect(await emulator.operations().first { $0.id == operation }?.status == .approved)
///     }
/// }
/// ```
@discardableResult
public func withEmulator<Result>(
    _ configuration: Emulator.Configuration = Emulator.Configuration(),
    _ body: (Emulator) async throws -> Result
) async throws -> Result {
    let emulator = try await Emulator.start(configuration: configuration)
    do {
        let result = try await body(emulator)
        await emulator.stop()
        return result
    } catch {
        for line in await emulator.refusalLines(areLinked: false) { print(line) }
        await emulator.stop()
        throw error
    }
}
