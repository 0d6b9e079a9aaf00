import Foundation
import PowerAuth

// The pause of automatic decisions, in stores that keep receipts.
extension ActivationStoreConformance {
    /// Half a second more than 1 700 000 000: dates of pauses are whole milliseconds.
    private static let pause = DecisionPause(
        date: Date(timeIntervalSince1970: 1_700_000_000.5),
        reason: "fraud at \u{1F4B3} e\u{301}"
    )

    func checkPause(of journal: any DecisionJournal) async throws {
        let ids = (0..<6).map { "a\($0)" }
        for id in ids { try await journal.insert(Self.sparseRecord(id)) }
        try self.require(try await journal.decisionPause() == nil, "a new store is paused")
        try await self.decide(with: ids, in: journal)

        try await journal.setDecisionPause(Self.pause)
        try self.require(try await journal.decisionPause() == Self.pause, "the pause is not there as it was set")
        // At once, so that stores which share commits refuse some of one commit.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask { try await self.requireRefusal(of: id, in: journal) }
                group.addTask { try await journal.update(id, recording: Self.intent(byHand: id)) { _ = $0.takeMove() } }
                group.addTask { try await journal.update(id) { _ = $0.takeMove() } }
                group.addTask { try await journal.record(Self.outcome(.accepted), ofMove: 1, of: id) }
            }
            try await group.waitForAll()
        }
        for id in ids {
            let receipts = try await journal.receipts(of: id, after: 0, limit: 10)
            try self.require(receipts.map(\.intent.isAutomatic) == [true, false], "an intent was written, or lost")
            try self.require(receipts.first?.outcome == Self.outcome(.accepted), "an outcome was held back")
            let moves = try await journal.record(of: id)?.history.moves
            try self.require(moves == 3, "the counter stands where it should not")
        }

        let second = DecisionPause(date: Self.pause.date + 1, reason: "")
        try await journal.setDecisionPause(second)
        try self.require(try await journal.decisionPause() == second, "a pause does not take another one's place")
        for _ in 0..<2 { try await journal.setDecisionPause(nil) }
        try self.require(try await journal.decisionPause() == nil, "there is a pause that was ended")
        try await self.decide(with: ids, in: journal)
    }

    func checkPause(of one: any DecisionJournal, asSeenBy other: any DecisionJournal) async throws {
        try await one.insert(Self.sparseRecord("a"))
        try await self.decide(with: ["a"], in: other)
        try await one.setDecisionPause(Self.pause)
        try await self.requireRefusal(of: "a", in: other)
        try self.require(try await other.decisionPause() == Self.pause, "the other handle sees another pause")
        try await other.setDecisionPause(nil)
        try await self.decide(with: ["a"], in: one)
    }

    private func decide(with ids: [String], in journal: any DecisionJournal) async throws {
        for id in ids { try await journal.update(id, recording: Self.intent(id, "1")) { _ = $0.takeMove() } }
    }

    private func requireRefusal(of id: String, in journal: any DecisionJournal) async throws {
        try await self.requireError(.decidingPaused) { try await self.decide(with: [id], in: journal) }
    }
}
