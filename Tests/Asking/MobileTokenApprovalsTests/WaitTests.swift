import ApprovalTesting
import Foundation
import HTTPClientTransport
import MobileTokenApprovals
import MobileTokenCloud
import MobileTokenTesting
import Testing

/// The wait is the wait, whatever the server does (number 14): people have the time of the request, one request more has its own, and telling
/// the server of the end takes two seconds at most.
@Suite(.timeLimit(.minutes(5))) struct WaitTests {
    /// The conduct of a server in trouble.
    enum Conduct: CaseIterable {
        case neverAnswers, answersSlowly, asksToBeLeftAlone, isGone
    }

    /// The moment from which on it is.
    enum Moment: CaseIterable {
        case atOnce, onceAsked, onceApproved
    }

    private static func trouble(_ conduct: Conduct) -> @Sendable (TestServer) async -> TestServer.Failure? {
        { server in
            switch conduct {
            case .neverAnswers:
                try? await server.clock.sleep(for: server.timeout)
                return TestServer.unanswered(lost: true)
            case .answersSlowly:
                try? await server.clock.sleep(for: server.timeout - .seconds(1))
                return nil
            case .asksToBeLeftAlone:
                return .response(HTTPResponse(status: 503, headers: ["Retry-After": "3600"]))
            case .isGone: return TestServer.unanswered(lost: false)
            }
        }
    }

    private static func request(_ id: String = "deploy-1", from approvers: Approvers) -> ApprovalRequest {
        var request = Bench.request(id, from: approvers)
        (request.expires, request.validFor) = (.seconds(10), .seconds(60))
        return request
    }

    @Test(arguments: Conduct.allCases, Moment.allCases)
    func aCallEndsInTime(_ conduct: Conduct, _ moment: Moment) async throws {
        for people in [["alice"], ["alice", "bob", "carol"]] {
            let bench = try await Bench()
            let isApproved = moment == .onceApproved
            bench.server.with { state in
                if !isApproved { state.script = [:] }
                state.listsRegistrations = true
            }
            let request = Self.request(from: .all(of: people.map { Approvers.Person($0) }))
            if moment != .atOnce {
                let ticket = try await bench.desk.ask(request)
                if isApproved { _ = try await bench.passing { try await ticket.decision() } }
            }
            let begin = bench.server.elapsed
            bench.server.with { $0.onArrival = Self.trouble(conduct) }
            let code = await bench.code(of: request)
            let waited = bench.server.elapsed - begin
            if isApproved {
                // Slow answers come in time to be acted on, or are too old.
                #expect(code == .lapsed)
                #expect(waited <= 60_000 + 2 * 20_000 + 10_000, "\(people): \(waited) ms")
            } else {
                #expect(code == .expired || conduct == .answersSlowly, "\(people): \(code as Any)")
                #expect(waited <= 10_000 + 1_000 + 20_000 + 2_000, "\(people): \(waited) ms")
            }
            #expect(bench.runs.count == 0)
        }
    }

    /// One poller for many: what others keep waiting is no reason for this one to wait.
    @Test(arguments: Conduct.allCases) func whoeverWaitsForAPollerWaitsNoLonger(_ conduct: Conduct) async throws {
        let bench = try await Bench(isAnswered: false)
        let desk = bench.desk
        let asked = try await bench.passing {
            var tickets: [ApprovalTicket] = []
            for number in 0..<30 {
                let request = Self.request("question-\(number)", from: .user("user-\(number)"))
                tickets.append(try await desk.ask(request))
            }
            return tickets
        }
        bench.server.with { $0.onArrival = Self.trouble(conduct) }
        let running = Task { try await bench.desk.run() }
        let begin = bench.server.elapsed
        let ends = try await bench.passing {
            try await withThrowingTaskGroup(of: Int64.self) { group in
                for ticket in asked {
                    group.addTask {
                        _ = try await ticket.decision()
                        return bench.server.elapsed - begin
                    }
                }
                return try await group.reduce(into: [Int64]()) { $0.append($1) }
            }
        }
        running.cancel()
        bench.clock.advance(by: .seconds(3_600))
        _ = await running.result
        #expect(ends.allSatisfy { $0 <= 10_000 + 1_000 + 20_000 + 2_000 }, "\(ends.max() ?? 0) ms")
    }

    @Test(arguments: [false, true]) func slowDevicesAreNotWaitedForWithoutEnd(_ areNamed: Bool) async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script = [:]
            state.listsRegistrations = true
            state.onArrival = Self.trouble(.answersSlowly)
        }
        var request = Self.request(from: .user("alice"))
        if areNamed { request.devices = Set((1...20).map { "device-\($0)" }) }
        let code = await bench.code(of: request)
        #expect(code == (areNamed ? .failed : .expired))
        #expect(bench.server.elapsed <= 33_000, "\(bench.server.elapsed) ms")
    }

    /// Nobody can decide an operation that the server has forgotten, so nobody waits for that.
    @Test(arguments: [false, true]) func anOperationThatTheServerHasForgottenEndsAtOnce(_ isApproved: Bool) async throws
    {
        let bench = try await Bench()
        if !isApproved { bench.server.with { $0.script = [:] } }
        let ticket = try await bench.desk.ask(Bench.request())
        if isApproved { _ = try await bench.passing { try await ticket.decision() } }
        bench.server.with { $0.operations = [] }
        let begin = bench.server.elapsed
        let error = await #expect(throws: ApprovalError.self) { try await bench.perform() }
        #expect(error?.code == .failed)
        #expect(error?.message == "The server no longer knows the operation by which it asked alice")
        #expect(bench.server.elapsed - begin <= 5_000)
        #expect(bench.server.with { $0.cancellations }.isEmpty)
    }

    @Test func ofSeveralPeopleOneMayBeForgotten() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script["alice"]?.after = 8_000
            state.script["bob"]?.after = 8_000
            state.script["carol"] = nil
        }
        let request = Bench.request(from: .any(2, of: ["alice", "bob", "carol"], onRejection: .untilImpossible))
        _ = try await bench.desk.ask(request)
        bench.server.with { state in state.operations.removeAll { $0.userID == "carol" } }
        try await bench.perform(request)
        #expect(bench.runs.count == 1)
    }

    /// Number 15: whoever has no device is not asked, and nobody waits.
    @Test func aPersonWithoutADeviceIsNotAsked() async throws {
        let bench = try await Bench()
        bench.server.with { $0.listsRegistrations = true }
        let error = await #expect(throws: ApprovalError.self) {
            try await bench.perform(Bench.request(from: .user("dave")))
        }
        #expect(error?.code == .noDevice && error?.message.contains("dave") == true)
        #expect(bench.server.operations.isEmpty && bench.server.elapsed == 0)
        #expect(await bench.code(of: Bench.request(from: .all(of: ["alice", "dave"]))) == .noDevice)
        bench.server.with { $0.registrations["device-2"]?.givenStatus = "BLOCKED" }
        #expect(await bench.code(of: Bench.request(from: .user("bob"))) == .noDevice)
        // Enough others have one.
        try await bench.perform(Bench.request(from: .any(1, of: ["dave", "alice"])))
    }
}
