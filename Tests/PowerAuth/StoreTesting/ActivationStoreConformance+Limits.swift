package import DecisionReceipts
package import Foundation
package import PowerAuthClient

// Limits of decisions, in stores that keep receipts.
extension ActivationStoreConformance {
    /// Half past midnight, 20 000 days after 1970.
    package static let limitDate = Date(timeIntervalSince1970: 20_000 * 86_400 + 1_800)

    package static func demand(
        _ allowed: Int64,
        _ amount: Int64 = 1,
        limit: String = "limit",
        key: String = "all",
        window: LimitWindow = .rolling(minutes: 60),
        includesPeople: Bool = false
    ) -> LimitDemand {
        LimitDemand(
            limit: limit,
            key: LimitDemand.key(of: key, [], currency: nil),
            currency: nil,
            amount: amount,
            allowed: allowed,
            window: window,
            includesPeople: includesPeople
        )
    }

    package static func intent(
        _ id: String,
        _ demands: [LimitDemand],
        after: TimeInterval = 0,
        byHand: Bool = false
    ) -> DecisionIntent {
        var intent = byHand ? Self.intent(byHand: id) : Self.intent(id, "1")
        intent.demands = demands
        return intent.dated(Self.limitDate + after, serverDate: nil)
    }

    /// Decides once, and returns the number of the move; `nil` if a limit is reached.
    @discardableResult
    package static func decide(
        _ id: String,
        _ demands: [LimitDemand],
        after: TimeInterval = 0,
        byHand: Bool = false,
        in store: ActivationStore
    ) async throws -> UInt64? {
        let intent = Self.intent(id, demands, after: after, byHand: byHand)
        do {
            return try await store.update(id, recording: intent) {
                _ = $0.takeMove()
                return $0.counterMoves
            }
        } catch let error as MobileTokenError where error.code == .limitReached {
            return nil
        }
    }

    func checkLimits(of store: ActivationStore) async throws {
        let ids = (0..<6).map { "a\($0)" }
        for id in ids { try await store.insert(Self.sparseRecord(id)) }
        func decide(_ demands: LimitDemand..., after: TimeInterval = 0, byHand: Bool = false) async throws -> Bool {
            try await Self.decide("a0", demands, after: after, byHand: byHand, in: store) != nil
        }
        func requireUse(_ used: Int64, after: TimeInterval = 0, _ explanation: String) async throws {
            let check = LimitCharges([Self.demand(0)], at: Self.limitDate + after, isAutomatic: true).checks
            let found = try await store.limitUse(check).used
            try self.require(found == [used], "\(explanation): \(found) in place of \(used)")
        }

        // Concurrently, so that stores which share commits refuse some of one commit.
        let written = try await withThrowingTaskGroup(of: Bool.self) { group in
            for id in ids { group.addTask { try await Self.decide(id, [Self.demand(4)], in: store) != nil } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        try self.require(written == 4, "\(written) of four decisions were made")
        var (moves, receipts) = (UInt64(0), [DecisionReceipt]())
        for id in ids {
            moves += try await store.record(of: id)?.counterMoves ?? 0
            receipts += try await store.receipts(of: id, after: 0, limit: 10)
        }
        try self.require(
            moves == 4 && receipts.count == 4,
            "a decision over the limit moved a counter, or left an intent"
        )
        try self.require(
            receipts.allSatisfy { $0.intent.charges.map(\.limit) == ["limit"] },
            "a receipt does not tell its charges"
        )
        try await requireUse(4, "four decisions")

        // Another name, number or window of a limit counts what was charged.
        try self.require(try await !decide(Self.demand(4, limit: "renamed")), "a renamed limit begins anew")
        try self.require(try await !decide(Self.demand(2)), "a stricter limit begins anew")
        try self.require(try await !decide(Self.demand(4, window: .day(in: .gmt))), "another window begins anew")
        try self.require(try await !decide(Self.demand(9), Self.demand(4, limit: "b")), "one of two limits is passed")
        try self.require(try await decide(Self.demand(5)), "a looser limit is closed")
        // Charged once for both.
        try self.require(try await decide(Self.demand(6), Self.demand(99, limit: "b")), "two limits of one key")
        try await requireUse(6, "one charge for two limits")

        // Minutes leave the window; a clock that is set back takes nothing out of it.
        try self.require(try await !decide(Self.demand(6), after: 3_600), "a window is shorter than it says")
        try self.require(try await !decide(Self.demand(6), after: -7_200), "a clock set back opens a window")
        try self.require(try await decide(Self.demand(1), after: 3_660), "a window is longer than it says")
        try await requireUse(1, after: 3_660, "the next window")
        try self.require(try await !decide(Self.demand(7, window: .day(in: .gmt)), after: 3_660), "the day ended early")

        try await self.checkReleases(in: store)
        try await self.checkPeople(in: store)
        try await self.checkClosure(of: store)
    }

    private func checkReleases(in store: ActivationStore) async throws {
        let demand = Self.demand(10_000_000_000_000_000, 10_000_000_000_000_000, key: "sum")
        func decide() async throws -> UInt64? { try await Self.decide("a1", [demand], in: store) }
        var move = try await decide()
        func record(_ result: DecisionOutcome.Result) async throws {
            guard let move else { throw Failure(requirement: self, explanation: "nothing to record for \(result)") }
            try await store.record(Self.outcome(result), ofMove: move, of: "a1")
        }
        try self.require(move != nil, "a sum up to the limit is refused")
        for result in [.unanswered(code: "x"), .followed, .doubtful(code: "x", serverCode: nil), .unknown]
            as [DecisionOutcome.Result]
        {
            try await record(result)
            try self.require(try await decide() == nil, "\(result) gives the charge back")
        }
        for result in [.notFollowed, .refused(code: "x", serverCode: "y")] as [DecisionOutcome.Result] {
            try await record(result)
            move = try await decide()
            try self.require(move != nil, "\(result) keeps the charge")
        }
        // A decision that was believed to be nothing, and was carried out after all, counts again, once.
        try await record(.notFollowed)
        try await record(.accepted)
        try self.require(try await decide() == nil, "an accepted decision does not count")
        try await record(.refused(code: "x", serverCode: nil))
        try self.require(try await decide() == nil, "a final outcome was replaced")
    }

    private func checkPeople(in store: ActivationStore) async throws {
        func decide(_ allowed: Int64, _ includesPeople: Bool, byHand: Bool) async throws -> Bool {
            let demand = Self.demand(allowed, key: "people", includesPeople: includesPeople)
            return try await Self.decide("a2", [demand], byHand: byHand, in: store) != nil
        }
        try self.require(try await decide(2, true, byHand: true), "a person is not let in")
        try self.require(try await decide(1, false, byHand: false), "a person is counted")
        try self.require(try await !decide(2, true, byHand: true), "a person passes the limit")
        try self.require(try await !decide(2, true, byHand: false), "an agent passes a limit that counts people")
        try self.require(try await !decide(1, false, byHand: false), "an agent passes the limit")
    }

    private func checkClosure(of store: ActivationStore) async throws {
        func decide(after: TimeInterval) async throws -> Bool {
            try await Self.decide("a3", [Self.demand(5, key: "closed")], after: after, in: store) != nil
        }
        try self.require(try await decide(after: 0), "an open limit is closed")
        try await store.driver.setLimitClosure((Self.limitDate + 600).minute)
        for later in [600.0, 3_600, 4_200] {
            try self.require(try await !decide(after: later), "a limit is open after a restore")
        }
        try self.require(try await decide(after: 4_260), "the window has passed, and the limit is closed")
        try self.require(try await store.openLimits(), "the limits were not closed")
        try self.require(try await decide(after: 4_200), "an opened limit is closed")
        try self.require(try await !store.openLimits(), "the limits were closed")
        // It keeps nothing from those without limits.
        try await store.driver.setLimitClosure(.max)
        try await store.update("a3", recording: Self.intent("a3", "1")) { _ = $0.takeMove() }
        _ = try await store.openLimits()
    }

    func checkLimits(of one: ActivationStore, asSeenBy other: ActivationStore) async throws {
        let ids = (0..<8).map { "a\($0)" }
        for id in ids { try await one.insert(Self.sparseRecord(id)) }
        // Each handle with a configuration of its own: both count what the other charged.
        let written = try await withThrowingTaskGroup(of: Bool.self) { group in
            for (index, id) in ids.enumerated() {
                let store = index % 2 == 0 ? one : other
                group.addTask { try await Self.decide(id, [Self.demand(index % 2 == 0 ? 3 : 5)], in: store) != nil }
            }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        try self.require(3...5 ~= written, "\(written) decisions of two handles were made")
        for id in ids { try await Self.decide(id, [Self.demand(5)], in: other) }
        try self.require(try await Self.decide("a0", [Self.demand(5)], in: one) == nil, "one handle counts apart")
        try self.require(try await Self.decide("a1", [Self.demand(6)], in: one) != nil, "more was charged than decided")
    }
}
