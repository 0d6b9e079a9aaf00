import ApprovalTesting
import Foundation
import MobileTokenApprovals
import MobileTokenTesting
import Testing

/// The desk over the development server's backend, where people's devices sign as phones do.
@Suite(.timeLimit(.minutes(5))) struct ScriptedTests {
    private static func code(
        _ desk: ApprovalDesk,
        _ clock: ManualClock,
        _ request: ApprovalRequest = Bench.request()
    ) async -> ApprovalError.Code? {
        do {
            async let _ = clock.runFreely()
            try await desk.perform(request) { _ in }
            return nil
        } catch { return (error as? ApprovalError)?.code }
    }

    @Test func somebodyApproves() async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .approves(after: .seconds(3))], clock: clock)
        async let _ = clock.runFreely()
        let approval = try await desk.perform(Bench.request()) { $0 }
        #expect(approval.action == Array("manifest".utf8))
        let personal = try #require(approval.approvals.first)
        #expect(personal.evidence == .answer)
        #expect(personal.factors == "possession_knowledge")
        #expect(personal.registrationID != nil)
        #expect(personal.signedData?.hasPrefix("A9*Tbilling*N4.2.1*R") == true)
    }

    /// Their moments do not become each other's, though all of them are looked at together.
    @Test func everybodyDecidesAtAMomentOfTheirOwn() async throws {
        let clock = ManualClock()
        let users = (1...8).map { "user-\($0)" }
        let script = Dictionary(
            uniqueKeysWithValues: users.enumerated().map { index, user in
                (user, ScriptedApprover.approves(after: .seconds(10 * index)))
            }
        )
        let desk = try await ApprovalDesk.scripted(script, clock: clock) { $0.limits.requestsPerSecond = 1_000 }
        var tickets: [(ticket: ApprovalTicket, delay: Double)] = []
        for (index, user) in users.enumerated() {
            tickets.append((try await desk.ask(Bench.request(user, from: .user(user))), Double(10 * index)))
        }
        clock.advance(by: .seconds(100))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (ticket, delay) in tickets {
                group.addTask {
                    guard case .approved(let approvals) = try await ticket.decision(),
                        let approved = approvals.first?.approvedAt
                    else {
                        Issue.record("no approval")
                        return
                    }
                    #expect(approved.timeIntervalSince(ticket.asked) == delay)
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func somebodyRejectsForAReason() async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .rejects("no")], clock: clock)
        let ticket = try await desk.ask(Bench.request())
        async let _ = clock.runFreely()
        let decision = try await ticket.decision()
        #expect(decision == .rejected(by: "alice", reason: "no"))
        #expect(await Self.code(desk, clock) == .rejected)
    }

    @Test func nobodyAnswers() async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .silent], clock: clock)
        #expect(await Self.code(desk, clock) == .expired)
    }

    @Test func otherDataAreShown() async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .approves(data: "A9*Tother")], clock: clock)
        #expect(await Self.code(desk, clock) == .bindingMismatch)
    }

    @Test(arguments: [1, 2]) func answersAreLost(_ count: Int) async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .losesAnswers(count)], clock: clock)
        #expect(await Self.code(desk, clock) == nil)
    }

    @Test func theServerEscapesAsTheDeskDoes() async throws {
        let clock = ManualClock()
        let desk = try await ApprovalDesk.scripted(["alice": .approves()], clock: clock)
        var request = Bench.request()
        request.parameters["service"] = #"a*b\c\*d"#
        #expect(await Self.code(desk, clock, request) == nil)
    }
}
