import ForwardingStores
import Foundation
import HTTPClientTransport
@testable import EmulatorBackend
@testable import PowerAuth
import PowerAuthProtocol
import Testing
import TestSupport

/// What a signature decides is written before it leaves, and what became of it afterwards.
@Suite(.timeLimit(.minutes(5))) struct DecisionTests {
    private let store = JournalingStore()

    private func makeActivation() async throws -> (Fixture, Activation) {
        let fixture = try Fixture(store: self.store)
        return (fixture, try await fixture.activate())
    }

    private func ticket(_ activation: Activation, _ operation: String) -> DecisionTicket {
        let intent = DecisionIntent(
            activationID: activation.activationID,
            operationID: operation,
            verdict: .approve,
            factors: .possessionKnowledge,
            signed: "A1",
            localDate: .distantPast
        )
        return DecisionTicket(intent) {
            $0.starts(with: #"{"responseObject""#.utf8) || $0.starts(with: #"{"status""#.utf8)
        }
    }

    private func decide(_ operation: String, with activation: Activation) async -> DecisionTicket {
        let ticket = self.ticket(activation, operation)
        var authentication = Authentication.possessionAndKnowledge(password: Fixture.password)
        authentication.decision = ticket
        try? await activation.approve(operation, with: authentication)
        return ticket
    }

    private var results: [DecisionOutcome.Result?] { self.store.rows.map(\.outcome) }

    @Test func anIntentIsWrittenBeforeItsSignatureLeaves() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let seen = Shared<[JournalingStore.Row]>([])
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { seen.value = self.store.rows }
            return .delivered
        }
        let ticket = await self.decide("a", with: activation)
        #expect(seen.value == [.init(intent: ticket.intent, moves: 1)])
        #expect(self.store.rows == [.init(intent: ticket.intent, moves: 1, outcome: .accepted)])
        #expect(ticket.lastMove == 1)
    }

    @Test func whatHasNoRoomForItsIntentIsNotSigned() async throws {
        let (fixture, activation) = try await self.makeActivation()
        self.store.isFull = true
        let ticket = await self.decide("a", with: activation)
        #expect(ticket.lastMove == nil)
        #expect(fixture.server.requestCount("/api/signed") == 0)
        #expect(try await self.store.record(of: activation.activationID)?.history.moves == 0)
        self.store.isFull = false
        _ = await self.decide("a", with: activation)
        #expect(self.results == [.accepted])
    }

    /// Both signatures of one attempt leave a row.
    @Test func aSignatureThatIsRepeatedForItsCounterHasAnIntentOfItsOwn() async throws {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 5) }
        let ticket = await self.decide("a", with: activation)
        #expect(self.store.rows.count == 2)
        #expect(self.store.rows.allSatisfy { $0.intent == ticket.intent })
        #expect(self.results.last == .accepted)
        #expect(self.results.first == .refused(code: "authenticationFailed", serverCode: "ERR_AUTHENTICATION"))
        #expect(ticket.lastMove == self.store.rows.last?.moves)
    }

    @Test(arguments: [false, true]) func theServersCounterTellsWhatBecameOfALostRequest(isDelivered: Bool) async throws
    {
        let (fixture, activation) = try await self.makeActivation()
        fixture.server.setFate { request in
            guard request.url.hasSuffix("/api/signed") else { return .delivered }
            return isDelivered ? .answerLost : .requestLost
        }
        let move = try #require(await self.decide("a", with: activation).lastMove)
        // What never left is known to have decided nothing.
        if case .unanswered = self.results.first { #expect(isDelivered) } else { #expect(!isDelivered) }
        #expect(try await activation.fate(ofMove: move) == (isDelivered ? .followed : .notFollowed))

        // A later signature lets the server's counter pass it by, and then nothing tells any more.
        fixture.server.setFate { _ in .delivered }
        _ = await self.decide("b", with: activation)
        #expect(try await activation.fate(ofMove: move) == .unknown)
    }

    @Test func aServerThatIsAheadTellsNothing() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let move = try #require(await self.decide("a", with: activation).lastMove)
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: 1) }
        #expect(try await activation.fate(ofMove: move) == .unknown)
    }
}
