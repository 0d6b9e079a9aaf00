import StoreTesting
import Foundation
import HTTPClientTransport
@testable import EmulatorBackend
@testable import PowerAuth
import MobileTokenTesting
import PowerAuthProtocol
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
            decided.signed = try await activation.decide(
                operation,
                with: .possessionAndKnowledge(password: Fixture.password),
                decided.intent
            )
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
        #expect(self.results.first == .refused(code: "authenticationFailed", serverCode: "ERR_AUTHENTICATION"))
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
        #expect(try await activation.fate(of: decision) == (isDelivered ? .followed : .notFollowed))

        // A later signature lets the server's counter pass it by. Then only the receipts tell, which the status before it wrote.
        fixture.server.setFate { _ in .delivered }
        _ = await self.decide("b", with: activation)
        #expect(try await activation.fate(of: decision) == (isDelivered ? .followed : .unknown))
    }

    /// A signature that only brings the counters in step hides what the status shows as every other one does.
    @Test func aStatusThatLetsTheServerCatchUpWritesWhatItShows() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        for _ in 0..<11 {
            try await self.store.update(activation.activationID) {
                _ = try $0.ledger.take(.notRequired, confirmed: nil)
            }
        }
        #expect(try await activation.status().counter.result == .signatureRecommended)
        #expect(try await activation.status().counter.distance == 0)
        #expect(try await activation.fate(of: decision) == .followed)
    }

    @Test func aServerThatIsAheadTellsNothing() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let decision = try #require(await self.decide("a", with: activation).signed?.decision)
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 1) }
        #expect(try await activation.fate(of: decision) == .unknown)
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
        let fixture = try Fixture(store: store)
        let activation = try await fixture.activate()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .answerLost : .delivered }
        let decision = try #require(await self.decide("a", with: activation, policy: policy).signed?.decision)
        fixture.server.setFate { _ in .delivered }
        #expect(try await self.receipts(store) == ["a: unanswered (connectionLost)"])
        try await activation.approve("no decision")
        #expect(try await self.receipts(store) == ["a: followed"])
        // The counter alone would not tell any more.
        #expect(try await activation.fate(of: decision) == .followed)
        try await activation.approve("another")
        #expect(try await self.receipts(store) == ["a: followed"])
    }

    @Test(arguments: [0, 19, 21, 100], [nil, Self.policy])
    func whatTheServerDidNotFollowDecidedNothingOnceItCannotArrive(seconds: Int, policy: DecisionIntent.Policy?)
        async throws
    {
        let store = ActivationStore.inMemory()
        let (clock, zero, start) = (ManualClock(), ManualClock().now, Date())
        let date: @Sendable () -> Date = { start + zero.duration(to: clock.now) / .seconds(1) }
        func process(at server: VerifyingServer) throws -> Fixture {
            try Fixture(server: server, store: store) {
                $0.clock = clock
                $0.wallClock = date
            }
        }
        let fixture = try process(at: try VerifyingServer(now: date))
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
        try await activation.approve("x")
        let isOver = seconds >= 20
        #expect(try await self.receipts(store) == [isOver ? "a: not followed" : "a: unanswered (httpStatus)"])
        guard !isOver else { return }

        // It might have arrived before that signature did, and the next status shows nothing of it.
        clock.advance(by: .seconds(100))
        let next = try await process(at: fixture.server).client.activation(id: activation.activationID)
        try await next.approve("y")
        // An agent asks for the operation.
        #expect(try await self.receipts(store) == [policy == nil ? "a: unknown" : "a: unanswered (httpStatus)"])
    }

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
        #expect(try await watched.fate(of: decision) == .followed)
        #expect(fixture.server.state.value.accepted == ["a", "b"])
    }

    /// This process stands still between the server's status and what it does with it, for longer than a request may take. Meanwhile
    /// another one signs a decision, which the status cannot know.
    @Test(.wireFact("2.6")) func aStatusFromBeforeADecisionTellsNothingOfIt() async throws {
        let store = ActivationStore.inMemory()
        let (clock, zero, start) = (ManualClock(), ManualClock().now, Date())
        let date: @Sendable () -> Date = { start + zero.duration(to: clock.now) / .seconds(1) }
        let fixture = try Fixture(server: try VerifyingServer(now: date), store: store)
        let activation = try await fixture.activate()
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
        #expect(try await activation.isContested(second))
        // It may have been carried out, although nobody will find out.
        await activation.resolve(first, as: .unknown)
        #expect(try await activation.isContested(second))
        await activation.resolve(first, as: .refused(code: "x", serverCode: nil))
        #expect(try await !activation.isContested(second))
        #expect(try await !activation.isClaimed(otherThanBy: second))
        await activation.resolve(try await sign(.approve), as: .accepted)
        #expect(try await activation.isClaimed(otherThanBy: second))
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
        #expect(try await activation.fate(of: decision) == (isDelivered ? .followed : .notFollowed))
    }

    /// The answer is the server's own, to the second copy of a request of which the first was carried out.
    @Test(.wireFact("2.6")) func aRequestThatAProxySentTwiceIsNotRefused() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .duplicatedAnsweredLast : .delivered }
        let ticket = await self.decide("a", with: activation, policy: Self.policy)
        #expect(self.results == [.followed])
        #expect(fixture.server.requestCount("/api/signed") == 1)
        #expect(fixture.server.state.value.accepted == ["a"])
        #expect(try await activation.fate(of: try #require(ticket.signed?.decision)) == .followed)
    }

    /// Whoever decides by hand may decide once more at once, for the counter may have been the reason.
    @Test func byHandARefusalInDoubtIsFollowedByAnotherSignatureAndStaysInDoubt() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { $0.url.hasSuffix("/api/signed") ? .duplicatedAnsweredLast : .delivered }
        _ = await self.decide("a", with: activation)
        #expect(self.results == [.followed, .followed])
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
        #expect(self.results == [.unanswered(code: "authenticationFailed")])
    }

    /// The receipt after a refusal of the signature with move 3, by how far the server's counter has come: refused, not known, or followed
    /// (`nil`).
    @Test(
        arguments: [
            // Nobody has signed since: the server has not moved, or by the first copy.
            (moves: 3, distance: 1, failures: 1, isRefused: true), (moves: 3, distance: 0, failures: 1, isRefused: nil),
            (moves: 3, distance: 0, failures: 0, isRefused: true),
            // Another process has, as after this one was frozen: what became of the first copy cannot be seen any more.
            (moves: 8, distance: 0, failures: 0, isRefused: false),
            (moves: 8, distance: 5, failures: 1, isRefused: nil),
            (moves: 8, distance: 6, failures: 1, isRefused: true),
        ]
    ) func aRefusalIsJudgedByTheServersCounter(
        moves: UInt64,
        distance: Int,
        failures: Int,
        isRefused: Bool?
    ) {
        let refusal = MobileTokenError(
            .authenticationFailed,
            "refused",
            httpStatus: 401,
            serverCode: "POWERAUTH_AUTH_FAIL"
        )
        let status = ActivationStatus(
            state: .active,
            failedAttempts: failures,
            maximumFailedAttempts: 5,
            counter: .init(result: .inSync, distance: distance, window: 20)
        )
        let result = DecisionOutcome.Result(refusal, ofMove: 3, factors: .possessionKnowledge, moves: moves, status)
        switch isRefused {
        case true?: #expect(result == DecisionOutcome.Result(refusal))
        case false?: #expect(result == .unanswered(code: "authenticationFailed"))
        case nil: #expect(result == .followed)
        }
    }

    /// A right signature of two factors clears the failed attempts: there was one copy, and it was refused.
    @Test(.wireFact("2.6")) func aRightSignatureThatIsRefusedIsRefused() async throws {
        let (_, activation) = try await self.makeActivation()
        let authentication = Authentication.possessionAndKnowledge(password: Fixture.password)
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.post(
                "/api/refused",
                body: Array(#"{"requestObject":{"id":"a"}}"#.utf8),
                authentication: .signature(uriID: "/refused", authentication),
                acceptLanguage: "en",
                decision: self.intent(activation, "a", policy: Self.policy)
            )
        }
        #expect(error?.code == .authenticationFailed)
        #expect(error?.remainingAttempts == nil)  // no failure was counted
        #expect(self.results == [.refused(code: "authenticationFailed", serverCode: "POWERAUTH_AUTH_FAIL")])
    }

    // MARK: The end of the client

    @Test func shutdownWaitsForWhatIsSigned() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let hold = Shared(true)
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { await until { !hold.value } }
            return .delivered
        }
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
        let hold = Shared(true)
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { await until { !hold.value } }
            return .delivered
        }
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
