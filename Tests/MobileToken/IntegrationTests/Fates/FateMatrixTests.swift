import Foundation
import Testing

/// Every claim of every story, compared with the bank's books. A change tells one story of each fault, `Scripts/test --full` all.
@Suite(.timeLimit(.minutes(10))) struct FateMatrixTests {
    static let origin = Task { try await FateOrigin() }
    static let isComplete = ProcessInfo.processInfo.environment["FATES"] == "all"

    @Test(arguments: FateCell.Task.allCases, FateCell.Fault.allCases)
    func nothingFalseIsSaid(task: FateCell.Task, fault: FateCell.Fault) async throws {
        let origin = try await Self.origin.value
        var findings: [String] = []
        for cell in Self.isComplete ? FateCell.all(of: task, fault) : [FateCell.sample(of: task, fault)] {
            for finding in try await FateStory.tell(cell, from: origin) { findings.append("\(cell): \(finding)") }
        }
        #expect(findings == [], "\(findings.joined(separator: "\n"))")
    }
}
