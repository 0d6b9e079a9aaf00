@testable import EmulatorBackend
import PowerAuth
@testable import PowerAuthClient
import Testing
import TestSupport

/// Client and server counters apart, and how they meet again.
@Suite(.timeLimit(.minutes(5))) struct CounterTests {
    private func moveServer(_ fixture: Fixture, _ activation: Activation, by steps: Int) {
        fixture.server.change(activation.activationID) { try $0.advanceCounter(by: steps) }
    }

    @Test func aRequestRefusedAfterItsSignatureWasAcceptedIsNotSentAgain() async throws {
        let (fixture, activation) = try await Fixture().activated
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.post(
                "/api/refused",
                body: Array("{}".utf8),
                authentication: .signature(uriID: "/refused", Fixture.twoFactors),
                acceptLanguage: "en",
                decision: nil
            )
        }
        #expect(fixture.server.requestCount("/api/refused") == 1)
        #expect(error?.code == .refusalUnproven)
        #expect(error?.failureKind == .unknown)
    }

    /// DEFECTS3, 51: nothing repeats an exchange for ever, whatever moves the counter or takes back a confirmation.
    @Test func eachRepairOfAnExchangeHasABound() throws {
        var repairs = ExchangeRepairs()
        for _ in 0..<3 { try repairs.settle() }
        #expect(throws: MobileTokenError.self) { try repairs.settle() }
        try repairs.confirm()
        expectError(.activationNotConfirmed) { try repairs.confirm() }
        repairs.synchronize()
        repairs.renewKey()
        #expect(!repairs.maySynchronize && !repairs.mayRenewKey)
    }

    @Test func noCounterValueIsSpentWhileTheServerIsGone() async throws {
        let store = ActivationStore.inMemory()
        let (fixture, activation) = try await Fixture(store: store).activated
        fixture.server.setFate { _ in .requestLost }
        for _ in 0..<50 {
            await #expect(throws: MobileTokenError.self) { try await activation.approve("x") }
        }
        #expect(try await store.record(of: activation.activationID)?.history.moves == 1)
    }

    @Test func aNewProcessAsksForTheStatusBeforeItsFirstSignatureAndThenNoMore() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let first = try Fixture(server: server, store: store)
        let id = try await first.activate().activationID
        try await first.client.activation(id: id).approve("a")
        #expect(server.requestCount("/activation/status") == 0)

        let second = try Fixture(server: server, store: store)
        let activation = try await second.client.activation(id: id)
        try await activation.approve("b")
        try await activation.approve("c")
        #expect(server.requestCount("/activation/status") == 1)
        #expect(server.state.value.accepted == ["a", "b", "c"])
    }

    @Test func twoClientsOnOneStoreTakeTurns() async throws {
        let store = ActivationStore.inMemory()
        let server = try VerifyingServer()
        let one = try Fixture(server: server, store: store)
        let other = try Fixture(server: server, store: store)
        let id = try await one.activate().activationID
        let both = [try await one.client.activation(id: id), try await other.client.activation(id: id)]
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<60 { group.addTask { try await both[number % 2].approve("\(number)") } }
            try await group.waitForAll()
        }
        #expect(Set(server.state.value.accepted).count == 60)
        #expect(server.state.value.mostSigning == 1)
    }

    @Test func aHundredSignaturesAtOnceAreServedOneAfterTheOtherAndAllAreValid() async throws {
        let (fixture, activation) = try await Fixture().activated
        let factor = try await activation.unlockKnowledge(password: Fixture.password)
        fixture.server.setFate { _ in
            for _ in 0..<5 { await Task.yield() }
            return .delivered
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<100 {
                group.addTask {
                    try await activation.approve("\(number)", with: .possessionAndKnowledge(unlocked: factor))
                }
            }
            try await group.waitForAll()
        }
        #expect(Set(fixture.server.state.value.accepted).count == 100)
        #expect(fixture.server.state.value.mostSigning == 1)
        #expect(fixture.server.requestCount("/api/signed") == 100)
        #expect(fixture.server.requestCount("/activation/status") == 0)
    }

    @Test func signaturesAreServedInTheOrderTheyWereAskedFor() async throws {
        let (fixture, activation) = try await Fixture().activated
        let hold = fixture.server.hold("")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<20 {
                group.addTask { try await activation.approve("\(number)") }
                await until { activation.isSigning && activation.waitingSignatureCount == number }
            }
            hold.value = false
            try await group.waitForAll()
        }
        #expect(fixture.server.state.value.accepted == (0..<20).map { "\($0)" })
    }

    @Test func theObserverSeesTheDistanceAndTheRetry() async throws {
        final class Observer: MobileTokenObserver {
            let seen = Shared<[String]>([])
            func requestStarted(_ request: MobileTokenObservation.Request) {
                self.seen.update { $0.append("start \(request.path)") }
            }
            func requestFinished(
                _ request: MobileTokenObservation.Request,
                with result: MobileTokenObservation.Request.Result
            ) {
                self.seen.update { $0.append("end \(request.path) \(result.httpStatus ?? 0)") }
            }
            func requestRetried(_ retry: MobileTokenObservation.Retry) {
                self.seen.update { $0.append("retry \(retry.reason)") }
            }
            func counterCompared(_ comparison: CounterComparison, of activationID: String) {
                self.seen.update { $0.append("distance \(comparison.distance) of \(comparison.window)") }
            }
            func signatureMade(_ signature: MobileTokenObservation.Signature) {
                self.seen.update { $0.append("signature \(signature.factors) \(signature.counterDistance)") }
            }
        }
        let observer = Observer()
        let fixture = try Fixture { $0.observer = observer }
        let activation = try await fixture.activate()
        self.moveServer(fixture, activation, by: 3)
        observer.seen.value = []
        try await activation.approve("a")
        #expect(
            observer.seen.value == [
                "signature possession 1", "start /api/signed", "end /api/signed 401",
                "start /pa/v3/activation/status", "end /pa/v3/activation/status 200", "distance -2 of 20",
                "retry counterMoved", "signature possession 1", "start /api/signed", "end /api/signed 200",
            ]
        )
    }
}
