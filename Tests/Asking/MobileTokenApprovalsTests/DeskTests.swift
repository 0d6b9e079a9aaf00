import ApprovalTesting
import Coordination
import ExactJSON
import Foundation
import MobileTokenCloud
import MobileTokenTesting
import Synchronization
import TestSupport
import Testing

@testable import MobileTokenApprovals

@Suite(.timeLimit(.minutes(5))) struct DeskTests {
    @Test func askedTwiceIsAskedOnce() async throws {
        let bench = try await Bench()
        let first = try await bench.desk.ask(Bench.request())
        let second = try await bench.desk.ask(Bench.request())
        #expect(first.fingerprint == second.fingerprint)
        #expect(bench.server.operations.count == 1)
        #expect(first.fingerprint.wholeMatch(of: /[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}/) != nil)
        #expect(bench.server.operations[0].parameters["fingerprint"] == first.fingerprint)
    }

    @Test func aCanceledTaskWithdrawsItsQuestion() async throws {
        let bench = try await Bench(isAnswered: false)
        let task = Task { try await bench.desk.perform(Bench.request()) { bench.runs.note($0.action) } }
        await bench.clock.waitForSleepers(1)
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(try await bench.state() == .withdrawn)
        #expect(bench.server.operations.map(\.status) == ["CANCELED"])
        #expect(await bench.code() == .canceled)
    }

    @Test func aTaskCanceledBeforeItsQuestionIsAskedSaysSo() async throws {
        let bench = try await Bench { $0.limits.requestsPerSecond = 1 }
        bench.server.with { $0.listsRegistrations = true }
        let request = Bench.request(from: .all(of: ["alice", "bob"]))
        let task = Task { try await bench.desk.perform(request) { bench.runs.note($0.action) } }
        // The second person's device is looked for in a second.
        await bench.clock.waitForSleepers(1)
        await #expect(throws: CancellationError.self) { try await task.stop() }
        #expect(try await bench.state() == nil)
    }

    @Test func aQuestionThatIsKeptIsGoneOnWithAfterARestart() async throws {
        let bench = try await Bench(isAnswered: false)
        let kept = altered(Bench.request()) { $0.onCancel = .keep }
        let task = Task { try await bench.desk.perform(kept) { bench.runs.note($0.action) } }
        await bench.clock.waitForSleepers(1)
        _ = try? await task.stop()
        #expect(try await bench.state() == .open)
        bench.server.with { $0.script["alice"] = .init() }
        let restarted = try await Bench.desk(bench.ledger, bench.server)
        try await bench.perform(kept, at: restarted)
        #expect(bench.runs.count == 1)
        #expect(bench.server.operations.count == 1)
    }

    @Test func aWithdrawalIsWrittenBeforeItIsSentAndRepeatedUntilTheServerKnows() async throws {
        let bench = try await Bench()
        bench.server.with { state in
            state.script = [:]
            state.cancelFailures = Array(repeating: TestServer.unanswered(lost: true), count: 3)
        }
        let ticket = try await bench.desk.ask(Bench.request())
        try await ticket.withdraw(reason: "changed my mind")
        #expect(try await bench.state() == .withdrawn)
        #expect(bench.server.operations.map(\.status) == ["PENDING"])
        // An earlier process wrote it: another one goes on.
        let restarted = try await Bench.desk(bench.ledger, bench.server)
        let running = Task { try await restarted.run() }
        let server = bench.server
        try await bench.passing {
            while server.operations.contains(where: { $0.status == "PENDING" }) { await Task.yield() }
        }
        _ = try? await running.stop()
        #expect(bench.server.operations.map(\.status) == ["CANCELED"])
        #expect(try await ticket.decision() == .canceled(reason: "changed my mind"))
    }

    /// The action is done while the withdrawal is about to be written.
    @Test func aWithdrawalThatComesTooLateSaysSo() async throws {
        let driver = StoppingLedger(MemoryLedger())
        let bench = try await Bench(ledger: .testing(driver))
        let other = try await Bench.desk(bench.ledger, bench.server)
        let ticket = try await bench.decided()
        driver.set(.before(.withdrawn)) {
            driver.set(nil)
            try await bench.perform(at: other)
        }
        let error = await #expect(throws: ApprovalError.self) { try await ticket.withdraw() }
        #expect(error?.code == .alreadyPerformed)
        #expect(error?.performance == .done)
    }

    /// Without a poller: whoever waits for another question tells the server once more.
    @Test(arguments: [false, true]) func aCancellationThatFailedIsRepeatedByTheNextWait(_ isRestarted: Bool)
        async throws
    {
        let bench = try await Bench()
        bench.server.with { state in
            state.script["alice"] = nil
            state.cancelFailures = Array(repeating: TestServer.unanswered(lost: false), count: 9)
        }
        try await bench.desk.ask(Bench.request()).withdraw()
        #expect(try await bench.state() == .withdrawn)
        #expect(bench.server.operations.map(\.status) == ["PENDING"])
        bench.server.with { $0.cancelFailures = [] }
        let desk = isRestarted ? try await Bench.desk(bench.ledger, bench.server) : bench.desk
        try await bench.perform(Bench.request("deploy-2", from: .user("bob")), at: desk)
        await until { bench.server.operations.first?.status == "CANCELED" }
    }

    @Test func anApprovalThatComesAfterTheEndIsSurplus() async throws {
        let bench = try await Bench(isAnswered: false)
        let ticket = try await bench.desk.ask(Bench.request())
        bench.server.with { $0.script["alice"] = .init() }
        let events = bench.desk.events()
        try await ticket.withdraw()
        #expect(await bench.code() == .canceled)
        for await event in events where event.kind == .surplusApproval { break }
    }

    @Test func onePollerLooksAfterWhatAnEarlierProcessAsked() async throws {
        let bench = try await Bench()
        _ = try await bench.desk.ask(Bench.request("a"))
        _ = try await bench.desk.ask(Bench.request("b", from: .user("bob")))
        let restarted = try await Bench.desk(bench.ledger, bench.server)
        let tickets = try await restarted.tickets(in: [.open])
        #expect(tickets.count == 2)
        let running = Task { try await restarted.run() }
        let decisions = try await bench.passing {
            var decisions: [ApprovalTicket.Decision] = []
            for ticket in tickets { decisions.append(try await ticket.decision()) }
            return decisions
        }
        for decision in decisions { #expect(decision.approvals?.count == 1, "\(decision)") }
        _ = try? await running.stop()
    }

    @Test func aCallbackWakesAtOnce() async throws {
        let bench = try await Bench(isAnswered: false) { $0.callbackPassword = "secret" }
        let ticket = try await bench.desk.ask(Bench.request())
        let decision = Task { try await ticket.decision() }
        await bench.clock.waitForSleepers(1)
        bench.clock.advance(by: .seconds(1))
        bench.server.with { $0.script["alice"] = .init() }
        let headers = [("authorization", "Basic " + Data("x:secret".utf8).base64EncodedString())]
        let body = Array(#"{"operationId":"op-1","status":"PENDING"}"#.utf8)
        #expect(bench.desk.receive(body: body, headers: headers) == 200)
        #expect(try await decision.value.approvals != nil)
        #expect(bench.server.elapsed == 1_000)
    }

    @Test func pollsGrowRarerAndHeedTheServer() async throws {
        let bench = try await Bench(isAnswered: false)
        let ticket = try await bench.desk.ask(Bench.request())
        let decision = Task { try await ticket.decision() }
        var sleeps: [Duration] = []
        for _ in 0..<10 {
            guard let sleep = await bench.clock.nextSleep() else { break }
            sleeps.append(sleep)
            bench.clock.advance(by: sleep)
        }
        #expect(sleeps.first == .seconds(5))
        #expect(zip(sleeps, sleeps.dropFirst()).allSatisfy { $0 <= $1 })
        #expect(sleeps.allSatisfy { $0 <= .seconds(60) })
        _ = try? await decision.stop()
    }

    /// A creation that may not be repeated is no reason to look at the ledger every second; the end of the question is.
    @Test func aCreationThatIsLostForGoodIsLookedForNoMoreOftenThanAnythingElse() async throws {
        let bench = try await Bench()
        bench.server.with {
            $0.creationFailures = Array(repeating: (TestServer.unanswered(lost: true), isMade: false), count: 9)
        }
        let ticket = try await bench.desk.ask(Bench.request())
        let decision = Task { try await ticket.decision() }
        var looks = 0
        // The time to decide, and that of one request.
        while bench.server.elapsed < 321_000, let sleep = await bench.clock.nextSleep() {
            looks += 1
            bench.clock.advance(by: sleep)
        }
        #expect(try await decision.value == .expired)
        #expect(bench.server.elapsed == 321_000)
        #expect(bench.server.with { $0.creations.count } == 3)
        #expect(looks < 40)
    }

    @Test func theTimeLimitOfRequestsHoldsForAllQuestions() async throws {
        let bench = try await Bench { configuration in
            configuration.limits.questionInterval = .zero
            configuration.limits.openQuestions = 1_000
        }
        bench.server.with { $0.script = [:] }
        let server = bench.server
        try await bench.passing {
            for number in 0..<100 { _ = try await bench.desk.ask(Bench.request("q\(number)")) }
        }
        let running = Task { try await bench.desk.run() }
        try await bench.passing { while server.with({ $0.shows.count }) < 200 { await Task.yield() } }
        _ = try? await running.stop()
        // Whatever is asked: in no second more than twenty.
        let arrivals = server.with { $0.arrivals }
        #expect(arrivals.count >= 300)
        for (earlier, later) in zip(arrivals, arrivals.dropFirst(20)) { #expect(later - earlier >= 1_000) }
    }

    @Test func aLateAnswerTellsTheTimeOnlyUntilAPromptOne() {
        var time = ServerTime()
        #expect(time.mustBeAskedFor(at: .zero))
        time.note(1_000, sent: .zero, at: .seconds(60))
        #expect(time.now(at: .seconds(60)) == 61_000)
        #expect(time.mustBeAskedFor(at: .seconds(60)))
        time.note(71_000, sent: .seconds(70), at: .seconds(71))
        time.note(72_000, sent: .seconds(71), at: .seconds(100))
        #expect(time.now(at: .seconds(100)) == 101_000)
        #expect(!time.mustBeAskedFor(at: .seconds(100)))
        #expect(time.mustBeAskedFor(at: .seconds(670)))
    }

    @Test func whatEndsSoonestIsLookedAtFirst() throws {
        var state = DeskState()
        let limits = ApprovalDesk.Configuration.Limits()
        for (id, seconds) in [("later", 600), ("soon", 60), ("last", 3_600)] {
            var request = Bench.request(id)
            request.expires = .seconds(seconds)
            state.takeUp(QuestionRecord(try request.terms(audience: "test"), at: 0), at: .zero, limits: limits)
        }
        let keys = ["soon", "later", "last"].map { LedgerKey(audience: "test", id: $0) }
        #expect(state.takeDue(at: .zero, limits: limits) == keys)
    }

    @Test func aLostCreationIsNotRepeatedBeforeTheServersRetryAfter() throws {
        var (state, record) = (DeskState(), QuestionRecord(try Bench.request().terms(audience: "test"), at: 0))
        record.send(0, at: 0)
        state.plan(
            record,
            at: .zero,
            date: 0,
            patience: 25_000,
            timeout: 20_000,
            limits: ApprovalDesk.Configuration.Limits(),
            failed: true,
            retryAfter: .seconds(60),
            isNew: false
        )
        #expect(state.due(record.key) == .seconds(60))
    }

    @Test func aCallbackDoesNotShortenTheServersRetryAfter() throws {
        var (state, limits) = (DeskState(), ApprovalDesk.Configuration.Limits())
        limits.shortestPoll = .seconds(5)
        var record = QuestionRecord(try Bench.request().terms(audience: "test"), at: 0)
        let operation = CloudClient.Operation(
            id: "op-1",
            status: "PENDING",
            operationType: "x",
            failures: (0, 1),
            created: 0,
            expires: 300_000
        )
        _ = record.adopt(operation, for: 0, date: nil, evidence: .answer, at: 0)
        func plan(at seconds: Int64, retryAfter: Duration?) {
            state.plan(
                record,
                at: .seconds(seconds),
                date: seconds * 1_000,
                patience: 0,
                timeout: 10_000,
                limits: limits,
                failed: retryAfter != nil,
                retryAfter: retryAfter,
                isNew: false
            )
        }
        plan(at: 10, retryAfter: .seconds(60))
        #expect(state.due(record.key) == .seconds(70))
        let wake = state.wake("op-1", at: .seconds(20))
        #expect(wake == .known(record.key))
        #expect(state.due(record.key) == .seconds(70))
        plan(at: 70, retryAfter: nil)
        _ = state.wake("op-1", at: .seconds(72))
        #expect(state.due(record.key) == .seconds(72))
    }

    /// The claims of many wait for their turns, and none of them is too late because of it.
    @Test func whoWaitsForATurnIsNotTooLate() async throws {
        let bench = try await Bench { configuration in
            configuration.limits.questionInterval = .zero
            configuration.limits.openQuestions = 1_000
            configuration.limits.requestsPerSecond = 2
        }
        try await bench.passing {
            await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        try await bench.desk.perform(Bench.request("q\(number)")) { bench.runs.note($0.action) }
                    }
                }
                while let result = await group.nextResult() {
                    #expect(throws: Never.self) { try result.get() }
                }
            }
        }
        #expect(bench.runs.count == 12)
    }

    @Test func healthTellsWhatIsOpen() async throws {
        let bench = try await Bench(isAnswered: false)
        bench.server.with { $0.skew = 2_000 }
        _ = try await bench.desk.ask(Bench.request())
        let health = bench.desk.health
        #expect(health.open == 1)
        #expect(health.unknown == 0)
        #expect(health.clockSkew == .seconds(2))
        #expect(health.oldestAnswer != nil)
    }

    /// Number 21: a page of figures waits for no database, and changes nothing in it.
    @Test func healthReadsWhatIsKnown() async throws {
        let driver = StoppingLedger(MemoryLedger())
        let bench = try await Bench(ledger: .testing(driver), isAnswered: false)
        let ticket = try await bench.desk.ask(Bench.request())
        bench.clock.advance(by: .seconds(3_600))
        #expect(bench.desk.health.open == 1)
        let other = try await Bench.desk(bench.ledger, bench.server)
        #expect(other.health.open == 0)
        // It is over since long, which is found out when somebody looks.
        try await other.core.takeUpAll()
        #expect(other.health.open == 1)
        #expect(try await other.tickets().map(\.state) == [.expired])
        #expect(other.health.open == 0 && bench.desk.health.open == 1)
        _ = try await ticket.decision()
        #expect(bench.desk.health.open == 0)
    }

    @Test func eventsHoldNoValues() async throws {
        let seen = Mutex<[ApprovalEvent]>([])
        let bench = try await Bench { $0.observer = { event in seen.withLock { $0.append(event) } } }
        try await bench.perform(altered(Bench.request()) { $0.parameters["service"] = "a-value-of-a-parameter" })
        let events = seen.withLock { $0 }
        #expect(events.map(\.state) == [.open, .approved, .claimed, .done])
        #expect(events.allSatisfy { !"\($0)".contains("a-value-of-a-parameter") })
    }

    /// A look that took long says nothing of what another process did meanwhile.
    @Test func whoIsLateChangesNothingOfAnothersClaim() async throws {
        let bench = try await Bench()
        let other = try await Bench.desk(bench.ledger, bench.server)
        try await bench.decided()
        let (begun, goesOn) = (Signal(), Signal())
        let acting = Shared<Task<Void, any Error>?>(nil)
        bench.server.with { state in
            state.beforeShow = { server in
                // The other one looks, too.
                guard acting.value == nil else { return }
                acting.value = Task {
                    try await other.perform(Bench.request()) { approval in
                        bench.runs.note(approval.action)
                        server.clock.advance(by: .seconds(301))
                        begun.raise()
                        _ = await goesOn.wait()
                    }
                }
                _ = await begun.wait()
            }
        }
        let error = await #expect(throws: ApprovalError.self) { try await bench.perform() }
        #expect(error?.code == .alreadyPerformed)
        #expect(error?.performance == .running)
        goesOn.raise()
        try await acting.value?.value
        #expect(bench.runs.count == 1)
        #expect(try await bench.state() == .done)
    }
}
