import ApprovalTesting
import ExactJSON
import MobileTokenCloud
import MobileTokenTesting
import TestSupport
import Testing

@testable import MobileTokenApprovals

@Suite(.timeLimit(.minutes(5))) struct PeopleTests {
    private static let team: [Approvers.Person] = ["alice", "bob", "carol"]

    @Test(arguments: RuleTests.servers) func twoOfThreeApprove(_ isDocumentedOnly: Bool) async throws {
        let bench = try await Bench(isDocumentedOnly: isDocumentedOnly)
        bench.server.with { $0.script["carol"] = nil }
        let approval = try await bench.perform(bench.readable(Bench.request(from: .any(2, of: Self.team))))
        #expect(approval.approvals.map(\.person) == ["alice", "bob"])
        #expect(bench.runs.count == 1)
        // Each was asked under a binding of their own, and the third is no longer.
        let bindings = bench.server.with { $0.creations.compactMap { $0.parameters["binding"] } }
        #expect(Set(bindings).count == 3)
        #expect(await bench.statusesAtRest() == ["APPROVED", "APPROVED", "CANCELED"])
    }

    @Test func allMustApprove() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["carol"] = nil }
        #expect(await bench.code(of: Bench.request(from: .all(of: Self.team))) == .expired)
        #expect(bench.runs.count == 0)
        bench.server.with { $0.script["carol"] = .init(registration: "device-3") }
        let approval = try await bench.perform(Bench.request("deploy-2", from: .all(of: Self.team)))
        #expect(approval.approvals.count == 3)
    }

    @Test func oneRejectionEndsIt() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script["bob"] = .init(status: "REJECTED", reason: "no", registration: "device-2")
            state.script["carol"]?.after = 100_000
            state.script["alice"]?.after = 100_000
        }
        #expect(await bench.code(of: Bench.request(from: .any(1, of: Self.team))) == .rejected)
        #expect(await bench.statusesAtRest() == ["CANCELED", "REJECTED", "CANCELED"])
    }

    /// However the people stand in the list, and though enough others have said yes by then.
    @Test(arguments: [["alice", "bob", "carol"], ["carol", "alice", "bob"], ["bob", "carol", "alice"]])
    func aRejectionIsNotOverlookedAmongApprovals(_ team: [String]) async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["carol"] = .init(status: "REJECTED", registration: "device-3") }
        #expect(await bench.code(of: Bench.request(from: .any(2, of: team.map { .init($0) }))) == .rejected)
        #expect(bench.runs.count == 0)
    }

    /// Said after the others were looked at, and before the action.
    @Test func aRejectionBeforeTheActionEndsIt() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["carol"] = nil }
        let shows = Shared(0)
        bench.server.with { state in
            state.cancelFailures = Array(repeating: TestServer.unanswered(lost: true), count: 9)
            state.beforeShow = { server in
                shows.update { $0 += 1 }
                // The fourth is the first of the last look.
                guard shows.value == 4 else { return }
                server.with { $0.script["carol"] = .init(status: "REJECTED", registration: "device-3") }
            }
        }
        #expect(await bench.code(of: Bench.request(from: .any(2, of: Self.team))) == .rejected)
        #expect(bench.runs.count == 0)
    }

    @Test func rejectionsMayLeaveEnoughPeople() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["bob"] = .init(status: "REJECTED", registration: "device-2") }
        let two = Approvers.any(2, of: Self.team, onRejection: .untilImpossible)
        let approval = try await bench.perform(Bench.request(from: two))
        #expect(approval.approvals.map(\.person) == ["alice", "carol"])
        bench.server.with { $0.script["alice"] = .init(status: "REJECTED") }
        bench.clock.advance(by: .seconds(10))
        #expect(await bench.code(of: Bench.request("deploy-2", from: two)) == .rejected)
    }

    @Test func nobodyIsAskedAfterItWasWithdrawnElsewhere() async throws {
        let bench = try await Bench()
        let other = try await Bench.desk(bench.ledger, bench.server)
        bench.server.with { state in
            state.script = [:]
            state.beforeCreate = { _, operation in
                guard operation.userID == "alice" else { return }
                try? await other.tickets(id: "deploy-1").first?.withdraw(reason: "not needed")
            }
        }
        _ = try? await bench.desk.ask(Bench.request(from: .all(of: ["alice", "bob"])))
        #expect(bench.server.with { $0.creations.map(\.userID) } == ["alice"])
    }

    /// A slow creation of one person keeps another process from taking that of the next one for lost, once it is taken up there.
    @Test func twoProcessesDoNotAskAPersonTwice() async throws {
        let bench = try await Bench()
        let other = try await Bench.desk(bench.ledger, bench.server)
        let key = LedgerKey(audience: "test", id: "deploy-1")
        let isSlow = Shared(true)
        bench.server.with { state in
            state.script = [:]
            state.beforeCreate = { server, operation in
                guard operation.userID == "alice", isSlow.value else { return }
                isSlow.value = false
                server.clock.advance(by: .seconds(26))
                _ = try? await other.core.step(key)
            }
        }
        _ = try await bench.desk.ask(Bench.request(from: .all(of: ["alice", "bob"])))
        #expect(bench.server.with { $0.creations.count { $0.userID == "bob" } } == 1)
        try await bench.desk.core.step(key)
        let pending = bench.server.operations.filter { $0.status == "PENDING" }.compactMap(\.userID)
        #expect(pending.sorted() == ["alice", "bob"])
    }

    @Test func oneAfterTheOther() async throws {
        let bench = try await Bench(isAnswered: false)
        let ticket = try await bench.desk.ask(Bench.request(from: .any(2, of: Self.team, inOrder: true)))
        #expect(bench.server.operations.map(\.userID) == ["alice"])
        bench.server.with { $0.script["alice"] = .init() }
        let key = LedgerKey(audience: "test", id: "deploy-1")
        try await bench.desk.core.step(key)
        #expect(bench.server.operations.map(\.userID) == ["alice", "bob"])
        bench.server.with { $0.script["bob"] = .init(registration: "device-2") }
        let decision = try await bench.passing { try await ticket.decision() }
        #expect(decision.approvals?.map(\.person) == ["alice", "bob"], "\(decision)")
        #expect(bench.server.operations.count == 2)  // carol is not bothered
    }

    @Test func severalUserIdsCountOnce() async throws {
        let bench = try await Bench()
        let alice = Approvers.Person("Alice Smith", users: ["alice", "asmith"])
        #expect(await bench.code(of: Bench.request(from: .all(of: [alice, "asmith"]))) == .invalidRequest)
        let approval = try await bench.perform(Bench.request(from: .all(of: [alice, "bob"])))
        #expect(approval.approvals.map(\.userID) == ["alice", "bob"])
    }

    @Test(arguments: [false, true]) func whoLeftTheTeamDoesNotCount(_ areEnoughLeft: Bool) async throws {
        let bench = try await Bench { $0.isEligible = { $0.id != "bob" } }
        // All three approve before the desk looks.
        let approvers =
            areEnoughLeft
            ? Approvers.any(1, of: ["alice", "bob"], onRejection: .untilImpossible) : .all(of: ["alice", "bob"])
        if areEnoughLeft {
            let approval = try await bench.perform(Bench.request(from: approvers))
            #expect(approval.approvals.map(\.person) == ["alice"])
        } else {
            #expect(await bench.code(of: Bench.request(from: approvers)) == .failed)
            #expect(bench.runs.count == 0)
        }
    }

    @Test func aSecondApprovalIsSurplusAndNothingFollows() async throws {
        let bench = try await Bench()
        let events = bench.desk.events()
        bench.server.with { $0.script["bob"]?.after = 1 }
        let approval = try await bench.perform(Bench.request(from: .any(1, of: ["alice", "bob"])))
        #expect(approval.approvals.map(\.person) == ["alice"])
        for await event in events where event.kind == .surplusApproval { break }
        #expect(bench.runs.count == 1)
    }

    @Test func everyCountedOperationIsLookedAtAgain() async throws {
        let bench = try await Bench()
        let request = Bench.request(from: .all(of: ["alice", "bob"]))
        let ticket = try await bench.desk.ask(request)
        _ = try await bench.passing { try await ticket.decision() }
        bench.server.update(1) { $0.data = "A9*Tother" }
        #expect(await bench.code(of: request) == .bindingMismatch)
        #expect(bench.runs.count == 0)
    }

    @Test func theOldestApprovalCounts() async throws {
        let bench = try await Bench()
        bench.server.with { $0.script["bob"]?.after = 200_000 }
        var request = Bench.request(from: .all(of: ["alice", "bob"]))
        request.validFor = .seconds(100)
        #expect(await bench.code(of: request) == .lapsed)
        #expect(bench.runs.count == 0)
    }
}

extension Bench {
    /// Returns the operations' statuses once no step is in progress.
    ///
    /// A call tells the server of an end for two seconds, which pass at once in test time; its step goes on after it.
    func statusesAtRest() async -> [String] {
        await until { self.desk.core.withState { $0.steps.isEmpty } }
        return self.server.operations.map(\.status.rawValue)
    }
}
