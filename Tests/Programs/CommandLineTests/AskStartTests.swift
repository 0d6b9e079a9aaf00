import Foundation
import MobileTokenApprovals
import Testing

@testable import AskCommands
@testable import CommandLineSupport

@Suite struct AskStartTests {
    /// A process that was stopped before the start, or that waited for a slow disk.
    @Test func anApprovalThatIsTooOldAtTheStartRunsNothing() async throws {
        let ask = try #require(AskCommands().all.first { $0.path == ["ask"] })
        let command = try BoundCommand(Invocation(of: ask, common: [], words: ["--", "true"]), withholding: Withheld())
        let action = try command.action.bytes
        let error = await #expect(throws: AskFailure.self) {
            try await command.run(action, notAfter: Date(timeIntervalSinceNow: -1), withholding: []) {
                Issue.record("it is about to start")
            }
        }
        #expect(error?.exitCode.rawValue == 81)
        #expect(try await command.run(action, notAfter: .distantFuture, withholding: []) {} == .done)
    }
}
