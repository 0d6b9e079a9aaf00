import Foundation
import StoreTesting
import TestSupport
import Testing

@testable import MobileTokenPostgres
import PowerAuth
@testable import PowerAuthClient

/// Limits of decisions that several nodes share.
@Suite(.timeLimit(.minutes(5)), .ifPostgresIsInstalled)
struct LimitTests {
    private typealias Conformance = ActivationStoreConformance

    /// The limits of a client: one that all share, and some that are its own, in orders of their own.
    private static func demands(of client: Int, allowed: Int64) -> [LimitDemand] {
        let shared = Conformance.demand(allowed)
        let own = (0..<3).map { Conformance.demand(99, limit: "\($0)", key: "\(client * (7 - $0) % 5)-\($0)") }
        return client.isMultiple(of: 2) ? [shared] + own : own + [shared]
    }

    /// Never one too many and never one too few, on nodes with other limits, while others give charges back.
    @Test func thirtyTwoClientsOnThreeNodesHoldOneLimit() async throws {
        try await withNodes { nodes in
            let stores = (0..<3).map { nodes.node("\($0)") }
            let ids = (0..<32).map { "a\($0)" }
            for id in ids { try await stores[0].insert(Conformance.sparseRecord(id)) }
            let made = Shared(0)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (client, id) in ids.enumerated() {
                    let store = stores[client % 3]
                    group.addTask {
                        for round in 0..<4 {
                            let demands = Self.demands(of: client, allowed: 40)
                            guard let move = try await Conformance.decide(id, demands, in: store) else { continue }
                            // Each fourth comes to nothing, and is decided once more.
                            if (client + round).isMultiple(of: 4) {
                                let refusal = Conformance.outcome(.refused(code: "x", serverCode: "y"))
                                try await store.record(refusal, ofMove: move, of: id)
                            } else {
                                made.update { $0 += 1 }
                                try await store.record(Conformance.outcome(.accepted), ofMove: move, of: id)
                            }
                            let now = made.value
                            #expect(now <= 40)
                        }
                    }
                }
                try await group.waitForAll()
            }
            // Decisions that came to nothing leave room.
            for id in ids {
                guard try await Conformance.decide(id, [Conformance.demand(40)], in: stores[1]) != nil else { break }
                made.update { $0 += 1 }
            }
            #expect(made.value == 40)
            var accepted = 0
            for receipt in try await stores[2].receipts(of: nil, after: 0, limit: 1_000) {
                if case .refused = receipt.outcome?.result { continue }
                accepted += 1
            }
            #expect(accepted == 40)
        }
    }

    /// The lock of the limits belongs to the transaction, and takes the place of what looks for a pause.
    @Test func aDecisionWithFourLimitsHasTwoStatementsOfItsOwn() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one") {
                $0.poolSize = 1
                // No heartbeat comes between.
                $0.lifetimes = NodeLifetimes(heartbeat: .seconds(600), death: .seconds(3_600))
            }
            try await one.insert(Conformance.sparseRecord("a"))
            let driver = try one.postgres
            func decide() async throws {
                try await one.withSigningTurn(of: "a") { turn in
                    let intent = Conformance.intent("a", Self.demands(of: 1, allowed: 9))
                    let move = try await turn.update(recording: intent) { $0.takeMove() + 1 }
                    try await one.record(Conformance.outcome(.accepted), ofMove: move, of: "a")
                }
            }
            try await decide()
            let before = await driver.counts.statements
            try await decide()
            #expect(await driver.counts.statements == before + 4)
        }
    }

    /// One statement looks at the windows and charges for all, unless there is not room for all.
    @Test func decisionsThatShareATransactionAreChargedTogether() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one") {
                $0.poolSize = 1
                $0.lifetimes = NodeLifetimes(heartbeat: .seconds(600), death: .seconds(3_600))
            }
            let ids = (0..<8).map { "a\($0)" }
            for id in ids {
                try await one.insert(Conformance.sparseRecord(id))
                try await one.withSigningTurn(of: id) { turn in _ = try await turn.update { $0.takeMove() } }
            }
            let driver = try one.postgres
            func decide(_ ids: [String]) async throws -> (made: Int, statements: Int) {
                let before = await driver.counts.statements
                let made = try await driver.together(ids, in: driver.charging) { id in
                    try await one.withSigningTurn(of: id) { turn in
                        let intent = Conformance.intent(id, Self.demands(of: id == "a0" ? 0 : 1, allowed: 13))
                        do {
                            _ = try await turn.update(recording: intent) { $0.takeMove() }
                            return true
                        } catch let error as MobileTokenError where error.code == .limitReached {
                            return false
                        }
                    }
                }
                return (made.values.count { $0 }, await driver.counts.statements - before)
            }
            let first = try await decide(ids)
            #expect(first.made == 8)
            // The locks, the patience for rows, eight changes, and one that charges them.
            #expect(first.statements == 8 + 3)
            let checks = Conformance.intent("a0", Self.demands(of: 0, allowed: 13)).charges?.checks ?? []
            #expect(try await driver.limitUse(checks) == [8, 1, 1, 8])
            // Five fit; each is looked at by itself.
            #expect(try await decide(ids).made == 5)
            #expect(try await decide(["a0", "a1"]).made == 0)
            #expect(try await one.receipts(of: nil, after: 0, limit: 99).count == 13)
        }
    }

    /// After a restore or a failover, what was charged may be missing.
    @Test func anotherEpochClosesTheLimits() async throws {
        try await withNodes { nodes in
            let one = nodes.node("one")
            try await one.insert(Conformance.sparseRecord("a"))
            func decide() async throws -> Bool {
                var intent = Conformance.intent("a", "1")
                intent.demands = [Conformance.demand(9)]
                do {
                    try await one.update("a", recording: intent.dated(Date(), serverDate: nil)) { _ = $0.takeMove() }
                    return true
                } catch let error as MobileTokenError where error.code == .limitReached {
                    return false
                }
            }
            #expect(try await decide())
            let epoch = try await one.postgres.load("a")?.epoch ?? 0
            #expect(try await one.postgres.beginEpoch(after: epoch))
            #expect(try await !decide())
            #expect(try await one.openLimits())
            #expect(try await decide())
        }
    }
}
