public import MobileTokenEmulator
import Synchronization

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
    return try await TestIssues.noted {
        try await body(emulator)
    } afterwards: { failure in
        if failure != nil {
            for line in await emulator.reasons(areLinked: false) { print("Development server: \(line)") }
        }
        await emulator.stop()
    }
}

extension Emulator {
    /// Notes that a test has failed without an error: the ``withSpace(named:seed:from:_:)`` or ``withEmulator(_:_:)`` in which the
    /// current task is then does what it does for an error.
    ///
    /// The page of this product has a trait of Swift Testing that calls it for failed expectations.
    ///
    /// - Parameter issue: The reason of the failure, for people.
    public static func noteIssue(_ issue: String) { TestIssues.current?.first.withLock { $0 = $0 ?? issue } }
}

/// The first issue of the current test, for the report of its server.
final class TestIssues: Sendable {
    @TaskLocal static var current: TestIssues?

    fileprivate let first = Mutex<String?>(nil)

    /// Runs `body`, and `afterwards` with the first issue or the error, if any.
    static func noted<Result>(
        _ body: () async throws -> Result,
        afterwards: (_ failure: String?) async -> Void
    ) async throws -> Result {
        let issues = TestIssues()
        return try await Self.$current.withValue(issues) {
            do {
                let result = try await body()
                await afterwards(issues.first.withLock { $0 })
                return result
            } catch {
                await afterwards(issues.first.withLock { $0 } ?? "\(error)")
                throw error
            }
        }
    }
}
