import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing
import TestSupport

/// Decisions by hand whose answers were lost, and the decision by hand that follows.
@Suite(.timeLimit(.minutes(2))) struct OpenDecisionTests {
    private enum Accident {
        case answerLost, requestLost
        /// The request arrives right after the question about its operation, and the time in which it may is over then.
        case requestLate
    }

    private static let start = Date(timeIntervalSince1970: 1_750_000_000)
    private let clock = ManualClock()

    private func date() -> Date { Self.start + ManualClock().now.duration(to: self.clock.now) / .seconds(1) }

    /// Approves a payment, whose answer is lost, and then a login.
    ///
    /// - Returns: The result of each decision, as its receipt states it.
    private func decideTwice(
        _ accident: Accident,
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
                    guard request.url.hasSuffix("/operation/authorize"),
                        isFirst.update({ first in
                            defer { first = false }
                            return first
                        })
                    else { return try await deliver(request) }
                    switch accident {
                    case .answerLost: _ = try await deliver(request)
                    case .requestLost: break
                    case .requestLate: late.value = request
                    }
                    throw HTTPTransportError(.connectionLost)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let service = client.operations(of: activation)
            let payment = try await emulator.offer("payment", to: "alice", on: service)
            let code = try await errorCode { try await service.authorize(payment, with: .twoFactors) }
            #expect(code == .connectionLost)
            try await meanwhile(emulator, payment.id)
            await emulator.clock.advance(by: pause)
            self.clock.advance(by: pause)
            let login = try await emulator.offer("login", to: "alice", on: service)
            try await service.authorize(login, with: .twoFactors)

            var results: [DecisionOutcome.Result?] = []
            for try await receipt in client.receipts() { results.append(receipt.outcome?.result) }
            return results
        }
    }

    @Test func whatTheServerFollowedAndFinishedIsInferred() async throws {
        #expect(try await self.decideTwice(.answerLost) == [.inferred, .accepted])
    }

    @Test func whatTheServerDidNotFollowDecidedNothing() async throws {
        #expect(try await self.decideTwice(.requestLost, after: .seconds(30)) == [.notFollowed, .accepted])
    }

    @Test func whatMayStillArriveStaysOpenAndKeepsNobodyFromDeciding() async throws {
        let results = try await self.decideTwice(.requestLost)
        #expect(results == [.unanswered(code: "connectionLost"), .accepted])
    }

    @Test func whatArrivesAfterTheQuestionsIsInNoAnswer() async throws {
        #expect(try await self.decideTwice(.requestLate) == [.followed, .accepted])
    }

    @Test func whatTheBankCanceledIsNotOurs() async throws {
        let results = try await self.decideTwice(.requestLost) { emulator, payment in
            try await emulator.cloud.cancelOperation(payment)
        }
        #expect(results == [.notFollowed, .accepted])
    }

    /// The question fails: the status before the next signature still writes what it shows.
    @Test func whatCannotBeAskedForIsFollowed() async throws {
        let results = try await self.decideTwice(.answerLost) { emulator, _ in
            await emulator.faults.add(FaultRule(match: .init(path: "**/operation/detail"), effect: .init(status: 503)))
        }
        #expect(results == [.followed, .accepted])
    }
}
