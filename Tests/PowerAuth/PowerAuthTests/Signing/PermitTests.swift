import StoreTesting
import Foundation
import HTTPClientTransport
import PowerAuth
import Testing
import TestSupport

/// A signed request waits for the limiter before it takes its counter value, and holds its place until it has ended.
@Suite(.timeLimit(.minutes(5))) struct PermitTests {
    private let turns: LimitedTurns
    private let store: ActivationStore

    init() { (self.turns, self.store) = LimitedTurns.inMemory() }

    private func makeActivation() async throws -> (Fixture, Activation) {
        let fixture = try Fixture(store: self.store)
        return (fixture, try await fixture.activate())
    }

    /// Whatever else the limiter lets pass, it is full.
    private func fill(_ gate: NarrowLimiter) async throws -> UInt64 { try await gate.enter(for: .seconds(20)) }

    private func decide(_ operation: String, with activation: Activation) async throws {
        let intent = DecisionIntent(
            activationID: activation.activationID,
            operationID: operation,
            verdict: .approve,
            factors: .possession,
            signed: "A1",
            localDate: .distantPast
        )
        try await activation.decide(operation, intent)
    }

    private func moves(_ activation: Activation) async throws -> UInt64? {
        try await self.store.record(of: activation.activationID)?.history.moves
    }

    private func receipts() async throws -> [DecisionReceipt] {
        try await self.store.receipts(of: nil, after: 0, limit: 10)
    }

    @Test(arguments: [true, false]) func aRightThatEndsWhileTheLimiterIsFullSpendsNothing(isSettled: Bool) async throws
    {
        var (fixture, activation) = try await self.makeActivation()
        try await activation.approve("first")
        if !isSettled { activation = try await fixture.client.activation(id: activation.activationID) }
        let before = try await self.moves(activation)
        let gate = NarrowLimiter(width: 1)
        #expect(fixture.client.setLimiter(gate))
        let permit = try await self.fill(gate)
        let deciding = Task { [activation] in try await self.decide("a", with: activation) }
        await until { gate.waitingCount == 1 }
        self.turns.end = .now
        gate.leave(permit, .answered)
        await expectError(.signingTurnLost) { try await deciding.value }
        #expect(try await self.moves(activation) == before)
        #expect(try await self.receipts().isEmpty)
        #expect(gate.outcomes.last == .unused)

        self.turns.end = nil
        try await self.decide("a", with: activation)
        #expect(try await self.receipts().map(\.outcome?.result) == [.accepted])
    }

    @Test func whatWaitsForTheLimiterIsSentLaterWithOneValue() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let gate = NarrowLimiter(width: 1)
        #expect(fixture.client.setLimiter(gate))
        let permit = try await self.fill(gate)
        let deciding = Task { try await self.decide("a", with: activation) }
        await until { gate.waitingCount == 1 }
        #expect(try await self.moves(activation) == 0)
        #expect(try await self.receipts().isEmpty)
        gate.leave(permit, .answered)
        try await deciding.value
        #expect(try await self.moves(activation) == 1)
        #expect(try await self.receipts().map(\.outcome?.result) == [.accepted])
        #expect(fixture.server.state.value.accepted == ["a"])
    }

    private final class Observer: MobileTokenObserver {
        let intend = Shared<@Sendable () -> Void>({})
        let sign = Shared<@Sendable () -> Void>({})
        func receiptWritten(_ receipt: MobileTokenObservation.Receipt) {
            if receipt.kind == .intentWritten { self.intend.value() }
        }
        func signatureMade(_ signature: MobileTokenObservation.Signature) { self.sign.value() }
    }

    /// The right is read before the value is taken: what renews it later is the right of later values.
    @Test func aRightThatIsRenewedMeanwhileKeepsNoValueFresh() async throws {
        let observer = Observer()
        let fixture = try Fixture(store: self.store) { $0.observer = observer }
        let activation = try await fixture.activate()
        let sent = Shared<[ContinuousClock.Instant?]>([])
        fixture.server.setFate { request in
            if request.url.hasSuffix("/api/signed") { sent.update { $0.append(request.notAfter) } }
            return .delivered
        }
        let end = ContinuousClock.now + .seconds(60)
        self.turns.end = end
        observer.intend.value = { [turns] in turns.end = end + .seconds(60) }
        try await self.decide("a", with: activation)
        #expect(sent.value == [end])
    }

    /// A value that is spent must not wait: nothing limited requests when its permit was asked for.
    @Test func aLimiterThatIsSetWhileARequestIsSignedDelaysOnlyLaterOnes() async throws {
        let observer = Observer()
        let fixture = try Fixture(store: self.store) { $0.observer = observer }
        let activation = try await fixture.activate()
        let gate = NarrowLimiter(width: 1)
        let permit = try await self.fill(gate)
        observer.sign.value = { [client = fixture.client] in _ = client.setLimiter(gate) }
        let deciding = Task { try await self.decide("a", with: activation) }
        await until { gate.waitingCount == 1 || !fixture.server.state.value.accepted.isEmpty }
        #expect(gate.waitingCount == 0)
        gate.leave(permit, .answered)
        try await deciding.value
        #expect(gate.outcomes == [.answered])
        #expect(try await self.receipts().map(\.outcome?.result) == [.accepted])
    }

    /// The one whose turn it is asks for the status, too.
    @Test func thoseWhoWaitForTheirTurnHoldNoPermit() async throws {
        let (fixture, first) = try await self.makeActivation()
        try await first.approve("first")
        let gate = NarrowLimiter(width: 2)
        #expect(fixture.client.setLimiter(gate))
        let activation = try await fixture.client.activation(id: first.activationID)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<8 { group.addTask { try await self.decide("\(number)", with: activation) } }
            for _ in 0..<4 { group.addTask { _ = try await activation.status() } }
            try await group.waitForAll()
        }
        #expect(fixture.server.state.value.accepted.count == 9)
        #expect(try await self.moves(activation) == 9)
        #expect(gate.most <= 2)
        #expect(gate.outcomes.allSatisfy { $0 == .answered })
    }

    @Test func nothingIsSentBesideTheRequestThatThePermitIsFor() async throws {
        let (fixture, first) = try await self.makeActivation()
        try await first.approve("first")
        fixture.server.forgetTemporaryKeys()
        let gate = NarrowLimiter(width: 1)
        #expect(fixture.client.setLimiter(gate))
        // Another process's: the status, the time and a temporary key have to be asked for.
        let other = try Fixture(server: fixture.server, store: self.store)
        #expect(other.client.setLimiter(gate))
        let activation = try await other.client.activation(id: first.activationID)
        _ = try await activation.requestToken("t")
        try await activation.approve("x")
        #expect(gate.outcomes.allSatisfy { $0 == .answered })
        #expect(fixture.server.state.value.accepted == ["first", "x"])
    }

    @Test func whoeverIsCanceledBeforeThePermitLeavesNoTrace() async throws {
        let (fixture, activation) = try await self.makeActivation()
        let gate = NarrowLimiter(width: 1)
        #expect(fixture.client.setLimiter(gate))
        let permit = try await self.fill(gate)
        let deciding = Task { try await self.decide("a", with: activation) }
        await until { gate.waitingCount == 1 }
        await #expect(throws: CancellationError.self) { try await deciding.stop() }
        gate.leave(permit, .answered)
        await until { !self.turns.hasTurn(activation.activationID) }
        #expect(try await self.moves(activation) == 0)
        #expect(gate.outcomes == [.answered, .unused])
        #expect(fixture.server.requestCount("/api/signed") == 0)
    }
}
