import Foundation
import PowerAuth

// The pause of automatic decisions, in stores that keep receipts.
extension ActivationStoreConformance {
    /// Half a second past 1 700 000 000: dates of pauses are whole milliseconds.
    private static let pause = DecisionPause(
        date: Date(timeIntervalSince1970: 1_700_000_000.5),
        reason: "fraud at \u{1F4B3} e\u{301}"
    )

    func checkPause(of store: ActivationStore) async throws {
        let ids = (0..<6).map { "a\($0)" }
        for id in ids { try await store.insert(Self.sparseRecord(id)) }
        try self.require(try await store.decisionPause() == nil, "a new store is paused")
        try await self.decide(with: ids, in: store)

        try await store.setDecisionPause(Self.pause)
        try self.require(try await store.decisionPause() == Self.pause, "the pause is not there as it was set")
        // Concurrently, so that stores which share commits refuse some of one commit.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for id in ids {
                group.addTask { try await self.requireRefusal(of: id, in: store) }
                group.addTask { try await store.update(id, recording: Self.intent(byHand: id)) { _ = $0.takeMove() } }
                group.addTask { try await store.update(id) { _ = $0.takeMove() } }
                group.addTask { try await store.record(Self.outcome(.accepted), ofMove: 1, of: id) }
            }
            try await group.waitForAll()
        }
        for id in ids {
            let receipts = try await store.receipts(of: id, after: 0, limit: 10)
            try self.require(receipts.map(\.intent.isAutomatic) == [true, false], "an intent was written, or lost")
            try self.require(receipts.first?.outcome == Self.outcome(.accepted), "an outcome was held back")
            let moves = try await store.record(of: id)?.history.moves
            try self.require(moves == 3, "the counter stands where it should not")
        }

        let second = DecisionPause(date: Self.pause.date + 1, reason: "")
        try await store.setDecisionPause(second)
        try self.require(try await store.decisionPause() == second, "a pause does not take another one's place")
        for _ in 0..<2 { try await store.setDecisionPause(nil) }
        try self.require(try await store.decisionPause() == nil, "there is a pause that was ended")
        try await self.decide(with: ids, in: store)
    }

    func checkPause(of one: ActivationStore, asSeenBy other: ActivationStore) async throws {
        try await one.insert(Self.sparseRecord("a"))
        try await self.decide(with: ["a"], in: other)
        try await one.setDecisionPause(Self.pause)
        try await self.requireRefusal(of: "a", in: other)
        try self.require(try await other.decisionPause() == Self.pause, "the other handle sees another pause")
        try await other.setDecisionPause(nil)
        try await self.decide(with: ["a"], in: one)
    }

    private func decide(with ids: [String], in store: ActivationStore) async throws {
        for id in ids { try await store.update(id, recording: Self.intent(id, "1")) { _ = $0.takeMove() } }
    }

    private func requireRefusal(of id: String, in store: ActivationStore) async throws {
        try await self.requireError(.decidingPaused) { try await self.decide(with: [id], in: store) }
    }
}
