import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import PowerAuth
import Testing
import TestSupport

/// A type of an application that wraps an activation, such as to count its requests, loses nothing of what agents find out.
@Suite(.timeLimit(.minutes(5))) struct WrappedActivationTests {
    private struct CountingActivation: AuthenticatedChannel {
        struct Strange: Error {}

        let activation: Activation
        /// Throws an error of its own in the place of a decision's.
        var hasOwnErrors = false
        let count = Shared(0)

        var activationID: String { self.activation.activationID }
        var serverDate: Date { self.activation.serverDate }
        var measuredServerDate: Date? { self.activation.measuredServerDate }
        var observer: (any MobileTokenObserver)? { self.activation.observer }
        var evidence: DecisionEvidence? { self.activation.evidence }

        func serverDate(ofLocalDate date: Date) -> Date { self.activation.serverDate(ofLocalDate: date) }
        func synchronizeTime() async throws { try await self.activation.synchronizeTime() }

        func post(
            _ path: String,
            body: [UInt8],
            authentication: RequestAuthentication,
            acceptLanguage: String,
            decision: DecisionIntent?
        ) async throws -> ChannelResponse {
            self.count.update { $0 += 1 }
            do {
                return try await self.activation.post(
                    path,
                    body: body,
                    authentication: authentication,
                    acceptLanguage: acceptLanguage,
                    decision: decision
                )
            } catch {
                throw self.hasOwnErrors && decision != nil ? Strange() : error
            }
        }
    }

    /// The answer to the first approval is lost, by hand and then by an agent.
    @Test(arguments: [(false, false), (true, false), (true, true)])
    func lostAnswersAreTracedAsWithoutIt(isWrapped: Bool, hasOwnErrors: Bool) async throws {
        try await withEmulator { emulator async throws in
            let (clock, traffic, losses) = (ManualClock(), Traffic(), Shared(2))
            let client = try emulator.makeClient {
                $0.transport = try traffic.transport { request, deliver in
                    let response = try await deliver(request)
                    guard request.url.hasSuffix("/operation/authorize"),
                        losses.update({
                            $0 -= 1
                            return $0 >= 0
                        })
                    else { return response }
                    throw HTTPTransportError(.timeout)
                }
            }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let wrapped = CountingActivation(activation: activation, hasOwnErrors: hasOwnErrors)
            let operations = OperationsService(
                activation: isWrapped ? wrapped : activation,
                configuration: .on(clock)
            )

            let byHand = try await emulator.offer("payment", to: "alice", on: operations)
            _ = try? await operations.authorize(byHand, with: .twoFactors)
            _ = try await emulator.cloud.createOperation("payment", userID: "alice")
            try await traffic.run(.patient(for: operations), clock) { events in
                while let event = await events.next(isolation: #isolation) {
                    if event.kind.description == "decided: approve, inferred", losses.value < 1 { break }
                }
            }
            #expect(try await client.results() == [.inferred, .inferred])
            #expect((wrapped.count.value > 0) == isWrapped)
        }
    }

    /// The facts of a receipt that do not depend on the time and the activation.
    private struct Facts: Hashable {
        let moves: UInt64
        let attempt: Int
        let verdict: DecisionIntent.Verdict
        let policy: DecisionIntent.Policy?
        let isComplete: Bool?
        let factors: String
        let signed: String?
        let reason: String?
        let outcome: DecisionOutcome.Result?

        init(_ receipt: DecisionReceipt) {
            let intent = receipt.intent
            (self.moves, self.attempt, self.verdict) = (intent.moves, intent.attempt, intent.verdict)
            (self.policy, self.isComplete, self.factors) = (intent.policy, intent.isComplete, intent.factors)
            (self.signed, self.reason) = (intent.personalData?.signed, intent.personalData?.reason)
            self.outcome = receipt.outcome?.result
        }
    }

    /// Approvals and rejections, by hand and by an agent, among them one that the server refuses.
    private func receipts(isWrapped: Bool) async throws -> [Facts] {
        try await withEmulator { emulator async throws in
            let client = try emulator.makeClient { _ in }
            let activation = try await emulator.makeActivation(user: "alice", password: password, client: client)
            let operations = OperationsService(
                activation: isWrapped ? CountingActivation(activation: activation) : activation
            )
            let approved = try await emulator.offer("payment", to: "alice", on: operations)
            try await operations.authorize(approved, with: .twoFactors)
            await #expect(throws: MobileTokenError.self) {
                try await operations.authorize(LocalOperation(id: approved.id, data: approved.data), with: .twoFactors)
            }
            let rejected = try await emulator.offer("login", to: "alice", on: operations)
            try await operations.reject(rejected, reason: .unexpectedOperation)

            _ = try await emulator.cloud.createOperation("payment", userID: "alice")
            let agent = try ApprovalAgent.patient(for: operations) { _ in .reject(.incorrectData) }
            var events = agent.events().makeAsyncIterator()
            let running = Task { try await agent.run() }
            while let event = await events.next(isolation: #isolation) {
                if case .decided = event.kind { break }
            }
            try await running.stop()
            return try await client.allReceipts().map(Facts.init)
        }
    }

    @Test func aWrapperThatForwardsEverythingLeavesTheSameReceipts() async throws {
        let receipts = try await self.receipts(isWrapped: false)
        // The second is of an operation that the first has decided, as its receipt tells.
        let refused = DecisionOutcome.Result.refused(
            code: "operationAlreadyFinished",
            serverCode: "OPERATION_ALREADY_FINISHED"
        )
        #expect(receipts.map(\.outcome) == [.accepted, refused, .accepted, .accepted])
        #expect(receipts.map(\.policy?.name) == [nil, nil, nil, "policy"])
        #expect(try await self.receipts(isWrapped: true) == receipts)
    }
}
