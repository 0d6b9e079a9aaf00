import StoreTesting
import Foundation
import HTTPClientTransport
@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient
import MobileTokenTesting
import Testing
import TestSupport
import WireFacts

/// The decision of a signature is written before it leaves, and its outcome afterwards.
@Suite(.timeLimit(.minutes(5))) struct DecisionTests {
    private let driver: JournalingDriver
    private let store: ActivationStore

    init() throws { (self.driver, self.store) = try JournalingDriver.inMemory() }

    private func makeActivation() async throws -> (Fixture, Activation) {
        let fixture = try Fixture(store: self.store)
        return (fixture, try await fixture.activate())
    }

    /// A decision that was tried, and its latest signature.
    private struct Decided {
        let intent: DecisionIntent
        var signed: SignedDecision?

        var lastMove: UInt64? { self.signed?.decision.moves }
        var result: DecisionOutcome.Result? { self.signed?.result }
    }

    private func intent(
        _ activation: Activation,
        _ operation: String,
        policy: DecisionIntent.Policy? = nil
    ) -> DecisionIntent {
        DecisionIntent(
            activationID: activation.activationID,
            operationID: operation,
            verdict: .approve,
            policy: policy,
            factors: .possessionKnowledge,
            signed: "A1",
            localDate: .distantPast
        )
    }

    private func decide(
        _ operation: String,
        with activation: Activation,
        policy: DecisionIntent.Policy? = nil
    ) async -> Decided {
        var decided = Decided(intent: self.intent(activation, operation, policy: policy))
        do {
            decided.signed = try await activation.decide(operation, with: Fixture.twoFactors, decided.intent)
        } catch {
            decided.signed = (error as? MobileTokenError)?.decision
        }
        return decided
    }

    private var results: [DecisionOutcome.Result?] { self.driver.rows.map(\.outcome) }

    @Test func anIntentIsWrittenBeforeItsSignatureLeaves() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let seen = Shared<[JournalingDriver.Row]>([])
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { seen.value = self.driver.rows }
            return .delivered
        }
        let ticket = await self.decide("a", with: activation)
        #expect(seen.value == [.init(intent: ticket.intent, moves: 1)])
        #expect(self.driver.rows == [.init(intent: ticket.intent, moves: 1, outcome: .accepted)])
        #expect(ticket.lastMove == 1)
    }

    @Test func whatHasNoRoomForItsIntentIsNotSigned() async throws {
        let (fixture, activation) = try await self.makeActivation()
        self.driver.isFull = true
        let ticket = await self.decide("a", with: activation)
        #expect(ticket.lastMove == nil)
        #expect(fixture.server.requestCount("/api/signed") == 0)
        #expect(try await self.store.record(of: activation.activationID)?.history.moves == 0)
        self.driver.isFull = false
        _ = await self.decide("a", with: activation)
        #expect(self.results == [.accepted])
    }

    /// Both signatures of one attempt leave a row.
    @Test func aSignatureThatIsRepeatedForItsCounterHasAnIntentOfItsOwn() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 5) }
        let ticket = await self.decide("a", with: activation)
        #expect(self.driver.rows.count == 2)
        #expect(self.driver.rows.allSatisfy { $0.intent == ticket.intent })
        #expect(self.results.last == .accepted)
        #expect(self.results.first == .notFollowed)
        #expect(ticket.lastMove == self.driver.rows.last?.moves)
    }

    @Test(arguments: [false, true]) func theServersCounterTellsWhatBecameOfALostRequest(isDelivered: Bool) async throws
    {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/api/signed") else { return .delivered }
            return isDelivered ? .answerLost : .requestLost
        }
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        // A request that never left is known to have decided nothing.
        if case .unanswered = self.results.first { #expect(isDelivered) } else { #expect(!isDelivered) }
        #expect(try await activation.counter(at: decision) == (isDelivered ? .followed : .behind))

        // A later signature lets the server's counter pass it by. Then only the receipts tell, which the status before it wrote.
        fixture.server.setFate { _ in .delivered }
        _ = await self.decide("b", with: activation)
        #expect(try await activation.counter(at: decision) == .past)
        if isDelivered { #expect(self.results.first == .followed) }
    }

    /// A signature that only brings the counters in step hides what the status shows as every other one does.
    @Test func aStatusThatLetsTheServerCatchUpWritesWhatItShows() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        for _ in 0..<11 {
            try await self.store.update(activation.activationID) {
                _ = try $0.ledger.take(.notRequired, confirmed: nil, isSent: false)
            }
        }
        #expect(try await activation.status().counter.result == .signatureRecommended)
        #expect(try await activation.status().counter.distance == 0)
        #expect(try await activation.counter(at: decision) == .past)
        #expect(self.results == [.followed])
    }

    @Test func aServerThatIsAheadAcceptsTheValueNoMore() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 1) }
        #expect(try await activation.counter(at: decision) == .past)
    }

    // MARK: Open decisions, before the next signature

    private func receipts(_ store: ActivationStore) async throws -> [String] {
        try await store.receipts(of: nil, after: 0, limit: 10).map { receipt in
            "\(receipt.intent.personalData?.operationID ?? ""): \(receipt.outcome?.result.description ?? "open")"
        }
    }

    /// Whoever signs next, for whatever purpose, and whoever decided.
    @Test(arguments: [nil, Self.policy])
    func theStatusBeforeTheNextSignatureWritesThatTheServerFollowed(policy: DecisionIntent.Policy?) async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation, policy: policy).signed?.decision)
        fixture.server.setFate { _ in .delivered }
        #expect(try await self.receipts(store) == ["a: unanswered (connectionLost)"])
        try await activation.approve("no decision")
        #expect(try await self.receipts(store) == ["a: followed"])
        // The counter alone does not tell any more.
        #expect(try await activation.counter(at: decision) == .past)
        try await activation.approve("another")
        #expect(try await self.receipts(store) == ["a: followed"])
    }

    /// The server is busy, and judges later than any clock tells: no time makes a fate final, and the next signature is no race.
    @Test(.wireFact("2.6"), arguments: [0, 19, 21, 100], [nil, Self.policy])
    func whatTheServerHasNotComeToIsWaitedForAndThenMadeWorthless(seconds: Int, policy: DecisionIntent.Policy?)
        async throws
    {
        let store = ActivationStore.inMemory()
        // Receipts keep milliseconds: a fraction of one would lengthen the wait by it.
        let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded())
        let (clock, zero) = (ManualClock(), ManualClock().now)
        let date: @Sendable () -> Date = { start + zero.duration(to: clock.now) / .seconds(1) }
        let waits = Waits()
        let fixture = try Fixture(server: try VerifyingServer(now: date), store: store) {
            $0.clock = clock
            $0.wallClock = date
            $0.observer = waits
        }
        let activation = try await fixture.activate()
        let lost = Shared(true)
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/api/signed"), lost.value else { return .delivered }
            return .answered(HTTPResponse(status: 502))
        }
        _ = await self.decide("a", with: activation, policy: policy)
        #expect(try await self.receipts(store) == ["a: unanswered (httpStatus)"])
        lost.value = false
        clock.advance(by: .seconds(seconds))
        let began = clock.now
        let next = Task { try await activation.approve("x") }
        while fixture.server.state.value.accepted.isEmpty {
            // A slow machine must not use up the wait before it has begun.
            if seconds >= 20 || !waits.limits.value.isEmpty { clock.advance(by: .milliseconds(100)) }
            await Task.yield()
        }
        try await next.value
        // The fence, and then the signature.
        #expect(fixture.server.requestCount("/signature/validate") == 1)
        #expect(
            (waits.limits.value.first.map { $0 > .zero && $0 <= .seconds(20 - seconds) } ?? false) == (seconds < 20)
        )
        #expect(began.duration(to: clock.now) >= .seconds(max(0, 20 - seconds)))
        #expect(try await self.receipts(store) == ["a: unanswered (httpStatus)"])
        let open = try #require(try await activation.openDecisions().first)
        #expect(try await activation.counter(at: open) == .past)
    }

    @Test func aWaitThatIsBrokenOffSignsNothing() async throws {
        let clock = ManualClock()
        let fixture = try Fixture(store: self.store) { $0.clock = clock }
        let activation = try await fixture.activate()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answered(HTTPResponse(status: 502)) : .delivered }
        _ = await self.decide("a", with: activation)
        let moves = try await self.store.record(of: activation.activationID)?.counterMoves
        let next = Task { try await activation.approve("x") }
        await clock.waitForSleepers(1)
        await #expect(throws: CancellationError.self) { try await next.stop() }
        #expect(try await self.store.record(of: activation.activationID)?.counterMoves == moves)
        #expect(fixture.server.requestCount("/signature/validate") == 0)
    }

    private final class Waits: MobileTokenObserver {
        let limits = Shared<[Duration]>([])

        func signingWaits(_ wait: MobileTokenObservation.Wait) { self.limits.update { $0.append(wait.limit) } }
    }

    /// The server decides an operation in a second step, which may wait. A status has shown that the signature was accepted, and is
    /// lost with the store; a later signature hides it.
    @Test(arguments: [true, false]) func aRestoredStoreDoesNotTellThatADecisionCameToNothing(isInBackup: Bool)
        async throws
    {
        let driver = MemoryDriver()
        let store = ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
        let (fixture, activation) = try await Fixture(store: store).activated
        let before = driver.snapshot
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        fixture.server.setFate { _ in .delivered }
        let backup = isInBackup ? driver.snapshot : before
        try await activation.approve("b")
        #expect(try await activation.openDecisions().map(\.result) == [.followed])

        driver.snapshot = backup
        let other = try await Fixture(
            server: fixture.server,
            store: ActivationStore(driver, name: "memory", keys: SealingKeys(current: .closure { Self.key }))
        ).client.activation(id: activation.activationID)
        try await other.approve("c")
        #expect(try await activation.counter(at: decision) == .reached)
        #expect(try await other.openDecisions().map(\.result) == (isInBackup ? [.evidenceLost] : []))
        // Whatever the process that signed has found out is written with the intent.
        await activation.resolve(decision, as: .unanswered(code: "timeout"))
        #expect(try await other.openDecisions().map(\.result) == [.evidenceLost])
    }

    private static let key = SecureRandom.secret(Sealing.keyByteCount)

    /// Another process signs between the server's status and the comparison with it.
    @Test func aSignatureInTheMiddleDoesNotHideTheFateOfAnother() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        fixture.server.setFate { _ in .delivered }
        let isFirst = Shared(true)
        let watching = try Fixture(
            server: fixture.server,
            store: self.store,
            transport: AfterStatus(base: fixture.server) {
                guard
                    isFirst.update({ first in
                        defer { first = false }; return first
                    })
                else { return }
                try await activation.approve("b")
            }
        )
        let watched = try await watching.client.activation(id: activation.activationID)
        #expect(try await watched.counter(at: decision) == .followed)
        #expect(fixture.server.state.value.accepted == ["a", "b"])
    }

    /// This process stands still between the server's status and what it does with it, for longer than a request may take. Meanwhile
    /// another one signs a decision, which the status cannot know.
    @Test(.wireFact("2.6")) func aStatusFromBeforeADecisionTellsNothingOfIt() async throws {
        let store = ActivationStore.inMemory()
        let (clock, zero, start) = (ManualClock(), ManualClock().now, Date())
        let date: @Sendable () -> Date = { start + zero.duration(to: clock.now) / .seconds(1) }
        let (fixture, activation) = try await Fixture(server: try VerifyingServer(now: date), store: store).activated
        try await activation.approve("before")
        let intent = self.intent(activation, "a").dated(start, serverDate: nil, arrivesBefore: start + 20)
        let stood = Shared(false)
        let transport = AfterStatus(base: fixture.server) {
            guard !stood.value else { return }
            stood.value = true
            try await store.update(activation.activationID, recording: intent) {
                _ = try $0.ledger.take(.notRequired, confirmed: nil)
            }
            clock.advance(by: .seconds(30))
        }
        let thawed = try Fixture(server: fixture.server, store: store, transport: transport) {
            $0.clock = clock
            $0.wallClock = date
        }
        try await thawed.client.activation(id: activation.activationID).approve("after")
        #expect(stood.value)
        #expect(try await self.receipts(store) == ["a: open"])
    }

    /// A person and an agent signed, the same or the opposite of each other, and the process of the first stands still.
    @Test(.wireFact("4.3"), arguments: [DecisionIntent.Verdict.approve, .reject])
    func whereAnotherSignatureMayHaveDecidedAFinishedOperationTellsNothing(verdict: DecisionIntent.Verdict) async throws
    {
        let store = ActivationStore.inMemory()
        let activation = try await Fixture(store: store).activate()
        let id = activation.activationID
        func sign(_ verdict: DecisionIntent.Verdict) async throws -> OpenDecision {
            let intent = DecisionIntent(
                activationID: id,
                operationID: "a",
                verdict: verdict,
                factors: .possession,
                signed: "A1"
            )
            let moves = try await store.update(id, recording: intent) { $0.takeMove() + 1 }
            return OpenDecision(intent, moves: moves)
        }
        let first = try await sign(verdict)
        let second = try await sign(.approve)
        #expect(try await activation.results(ofOthersThan: second) == [nil])
        await activation.resolve(first, as: .unknown)
        #expect(try await activation.results(ofOthersThan: second) == [.unknown])
        await activation.resolve(try await sign(.approve), as: .accepted)
        #expect(try await activation.results(ofOthersThan: second) == [.unknown, .accepted])
        #expect(try await activation.openDecisions().map(\.moves) == [second.moves])
    }

    /// Does something once a status is on its way back.
    private struct AfterStatus: HTTPTransport {
        let base: any HTTPTransport
        let action: @Sendable () async throws -> Void

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            let response = try await self.base.send(request)
            if request.url.hasSuffix("/activation/status") { try await self.action() }
            return response
        }
    }

    // MARK: Somebody between

    private static let doubt = DecisionOutcome.Result.doubtful(
        code: "authenticationFailed",
        serverCode: "ERR_AUTHENTICATION"
    )
    private static let policy = DecisionIntent.Policy(name: "all", version: "1")

    /// Whoever writes a page instead of the server, or in the place of its answer, says nothing about the decision.
    @Test(
        arguments: [401, 403, 404, 413, 429, 499],
        [false, true]
    )
    func thePageOfAProxyIsNoRefusal(status: Int, isDelivered: Bool) async throws {
        let (fixture, activation) = try await self.makeActivation()
        let page = HTTPResponse(status: status, body: Array("<html>No</html>".utf8))
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") && !isDelivered ? .answered(page) : .delivered }
        fixture.server.setRewrite { $0.url.hasSuffix("/api/signed") ? page : $1 }
        let ticket = await self.decide("a", with: activation, policy: Self.policy)
        #expect(self.results == [.unanswered(code: "httpStatus")])
        #expect(ticket.result?.isOpen == true)
        let decision = try #require(ticket.signed?.decision)
        #expect(try await activation.counter(at: decision) == (isDelivered ? .followed : .behind))
    }

    /// The answer is the server's own, to the second copy of a request of which the first was carried out.
    @Test(.wireFact("2.6")) func aRequestThatAProxySentTwiceIsNotRefused() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .duplicatedAnsweredLast : .delivered }
        let ticket = await self.decide("a", with: activation, policy: Self.policy)
        #expect(self.results == [Self.doubt])
        #expect(fixture.server.requestCount("/api/signed") == 1)
        #expect(fixture.server.state.value.accepted == ["a"])
        // The failure that the second copy is would be there as well if the server had been one step ahead.
        #expect(try await activation.counter(at: try #require(ticket.signed?.decision)) == .reached)
    }

    /// Whoever decides by hand may decide once more at once, for the counter may have been the reason.
    @Test func byHandARefusalInDoubtIsFollowedByAnotherSignatureAndStaysInDoubt() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .duplicatedAnsweredLast : .delivered }
        _ = await self.decide("a", with: activation)
        #expect(self.results == [Self.doubt, Self.doubt])
    }

    /// The server was one step ahead, which looks the same until the next signature is accepted.
    @Test func byHandWhatWasInDoubtDecidedNothingWhenTheNextSignatureDoes() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 1) }
        _ = await self.decide("a", with: activation)
        #expect(self.results == [.notFollowed, .accepted])
    }

    @Test func whenTheStatusCannotBeHadARefusalInDoubtStaysOpen() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate {
            if $0.url.hasSuffix("/activation/status") { return .answered(HTTPResponse(status: 404)) }
            return $0.url.hasSuffix("/api/signed") ? .duplicatedAnsweredLast : .delivered
        }
        _ = await self.decide("a", with: activation)
        #expect(self.results == [Self.doubt])
    }

    /// A right signature of two factors clears the failed attempts: there was one copy, and it was refused.
    @Test(.wireFact("2.6")) func aRightSignatureThatIsRefusedIsInDoubt() async throws {
        let (_, activation) = try await self.makeActivation()
        let authentication = Fixture.twoFactors
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.post(
                "/api/refused",
                body: Array(#"{"requestObject":{"id":"a"}}"#.utf8),
                authentication: .signature(uriID: "/refused", authentication),
                acceptLanguage: "en",
                decision: self.intent(activation, "a", policy: Self.policy)
            )
        }
        #expect(error?.code == .refusalUnproven)  // no failure was counted
        // It may have been the second copy that was refused, where something behind the server failed with the first.
        #expect(self.results == [.doubtful(code: "authenticationFailed", serverCode: "POWERAUTH_AUTH_FAIL")])
    }

    /// The server has counted a failure before, and now cannot answer: nothing counts this one.
    @Test func anEarlierFailureIsNotThatOfARefusalInDoubt() async throws {
        let (fixture, activation) = try await self.makeActivation()
        await #expect(throws: MobileTokenError.self) {
            try await activation.approve("x", with: .possessionAndKnowledge(password: "wrong"))
        }
        try await activation.approve("y")
        let body = #"{"status":"ERROR","responseObject":{"code":"ERR_AUTHENTICATION","message":"x"}}"#
        fixture.server.setFate {
            $0.url.hasSuffix("/api/signed")
                ? .answered(HTTPResponse(status: 401, body: Array(body.utf8))) : .delivered
        }
        await expectError(.refusalUnproven) {
            try await activation.decide("a", self.intent(activation, "a", policy: Self.policy))
        }
        #expect(self.results == [Self.doubt])
    }

    // MARK: The end of the client

    @Test func shutdownWaitsForWhatIsSigned() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let hold = fixture.server.hold("/api/signed")
        let deciding = Task { await self.decide("a", with: activation) }
        await until { fixture.server.requestCount("/api/signed") == 1 }
        deciding.cancel()
        let stopping = Task {
            await fixture.client.shutdown()
            return self.results
        }
        for _ in 0..<1_000 { await Task.yield() }
        hold.value = false
        #expect(await stopping.value == [.accepted])
        _ = await deciding.value

        let late = await self.decide("b", with: activation)
        #expect(late.lastMove == nil)
        #expect(self.driver.rows.count == 1)
        #expect(fixture.server.requestCount("/api/signed") == 1)
    }

    @Test func shutdownWaitsByTheClientsClock() async throws {
        let clock = ManualClock()
        let fixture = try Fixture(store: self.store) {
            $0.clock = clock
            $0.timeout = .seconds(7)
        }
        let activation = try await fixture.activate()
        let hold = fixture.server.hold("/api/signed")
        let deciding = Task { await self.decide("a", with: activation) }
        await until { fixture.server.requestCount("/api/signed") == 1 }
        let stopping = Task { await fixture.client.shutdown() }
        while await clock.nextSleep() != .seconds(21) {}
        clock.advance(by: .seconds(21))
        await stopping.value
        hold.value = false
        _ = await deciding.value
    }
}
