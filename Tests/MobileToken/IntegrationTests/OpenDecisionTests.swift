import DecisionReceipts
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing
import TestSupport

/// Decisions by hand whose answers were lost, and the decision by hand that follows.
@Suite(.timeLimit(.minutes(5))) struct OpenDecisionTests {
    private enum Accident {
        case answerLost, requestLost
        /// The request arrives right after the question about its operation, and the time in which it may is over then.
        case requestLate
    }

    private static let start = Date(timeIntervalSince1970: 1_750_000_000)
    private let clock = ManualClock()

    private func date() -> Date { Self.start + ManualClock().now.duration(to: self.clock.now) / .seconds(1) }

    /// Approves a payment, with an accident, and then so many logins.
    ///
    /// - Returns: The result of each decision, as its receipt states it.
    private func decide(
        _ accident: Accident,
        then count: Int = 1,
        expecting expected: MobileTokenError.Code? = .outcomeUnknown,
        after pause: Duration = .zero,
        _ meanwhile: (Emulator, _ payment: String) async throws -> Void = { _, _ in }
    ) async throws -> [DecisionOutcome.Result?] {
        try await withEmulator { emulator in
            await emulator.clock.freeze(at: Self.start)
            let (isFirst, late) = (Shared(true), Shared<HTTPRequest?>(nil))
            let (clock, date) = (self.clock, self.date)
            let client = try emulator.makeClient {
                $0.clock = clock
                $0.wallClock = date
                $0.transport = try InterceptingTransport { request, deliver in
                    if request.url.hasSuffix("/operation/detail"), let held = late.value {
                        let response = try await deliver(request)
                        late.value = nil
                        _ = try await deliver(held)
                        clock.advance(by: .seconds(30))
                        return response
                    }
                    guard request.url.hasSuffix("/operation/authorize"), isFirst.take() else {
                        return try await deliver(request)
                    }
                    switch accident {
                    case .answerLost: _ = try await deliver(request)
                    case .requestLost: break
                    case .requestLate: late.value = request
                    }
                    throw HTTPTransportError(.connectionLost)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let payment = try await emulator.offer("payment", to: "alice", on: service)
            let code = try await errorCode { try await service.authorize(payment, with: .twoFactors) }
            #expect(code == expected)
            try await meanwhile(emulator, payment.id)
            await emulator.clock.advance(by: pause)
            self.clock.advance(by: pause)
            for _ in 0..<count {
                let login = try await emulator.offer("login", to: "alice", on: service)
                let deciding = Task { try await service.authorize(login, with: .twoFactors) }
                let passing = Task { await Traffic().pass(self.clock) }
                #expect(try await deciding.value == .accepted)
                passing.cancel()
            }

            return try await client.results()
        }
    }

    // MARK: What is asked

    /// At most one status and one look at the operation. A look at the history is signed, and asks for a status before, since the fate of
    /// the signature before it is not known.
    @Test(arguments: [
        ("answered", true, ["authorize"]),
        ("lost", true, ["authorize", "status", "status", "history"]),
        ("lost", false, ["authorize", "status", "detail"]),
        ("over", true, ["authorize", "status", "status", "history"]),
        ("over", false, ["authorize", "status", "detail"]),
        ("wrong", true, ["authorize", "status"]),
    ])
    func anApprovalByHandAsksOnce(_ accident: String, hasTwoFactors: Bool, calls: [String]) async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient()
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.makeOperationsService(for: activation)
            let operation = try await emulator.offer(hasTwoFactors ? "login" : "login_1FA", to: "alice", on: service)
            try await activation.validate(.possession)
            if accident == "over" {
                let other = try emulator.makeClient()
                let device = try await emulator.makeActivation(user: "alice", password: password, client: other)
                try await other.makeOperationsService(for: device).authorize(
                    operation,
                    with: hasTwoFactors ? .twoFactors : .possession
                )
            }
            let position = await emulator.journalPosition
            if accident == "lost" {
                await emulator.faults.add(FaultRule(match: .init(path: "**/authorize", first: 1), effect: .lostAnswer))
            }
            let factors: Activation.Authentication =
                accident == "wrong"
                ? .possessionAndKnowledge(password: "wrong") : hasTwoFactors ? .twoFactors : .possession
            _ = try await errorCode { try await service.authorize(operation, with: factors) }
            let made = await emulator.journal(since: position).filter { $0.activationID == activation.activationID }
            #expect(made.calls.filter { $0 != "create" } == calls)
        }
    }

    @Test func whatTheServerFollowedAndFinishedIsInferred() async throws {
        #expect(try await self.decide(.answerLost, expecting: nil) == [.inferred, .accepted])
    }

    /// The next signature makes it worthless, whether it can still arrive or not, and the question after that tells.
    @Test(arguments: [Duration.zero, .seconds(30)])
    func whatTheServerDidNotComeToDecidedNothingOnceAnotherWasAccepted(pause: Duration) async throws {
        let open = DecisionOutcome.Result.unanswered(code: "connectionLost")
        #expect(try await self.decide(.requestLost, after: pause) == [open, .accepted])
        #expect(try await self.decide(.requestLost, then: 2, after: pause) == [.notFollowed, .accepted, .accepted])
    }

    @Test func whatArrivesAfterTheQuestionsIsInNoAnswer() async throws {
        #expect(try await self.decide(.requestLate) == [.followed, .accepted])
    }

    @Test func whatTheBankCanceledIsNotOurs() async throws {
        let results = try await self.decide(.requestLost) { emulator, payment in
            try await emulator.cloud.cancelOperation(payment)
        }
        #expect(results == [.notFollowed, .accepted])
    }
}
