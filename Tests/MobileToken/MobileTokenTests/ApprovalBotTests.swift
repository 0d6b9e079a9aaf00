import ExactJSON
import Foundation
import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct ApprovalBotTests {
    private let clock = ManualClock()

    /// A bot whose polls wait for the test's clock.
    private func makeBot(_ activation: Activation) -> ApprovalBot {
        var configuration = OperationsService.Configuration()
        configuration.clock = self.clock
        let operations = OperationsService(activation: activation, configuration: configuration)
        return ApprovalBot(operations: operations, authentication: .possessionAndKnowledge(password: "1234"), limit: 50)
    }

    @Test func smallPaymentsAreApprovedAndAllElseIsRejected() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let cloud = emulator.cloud
            let small = try await cloud.createOperation("payment", userID: "alice", parameters: ["amount": "49.90"])
            let large = try await cloud.createOperation("payment", userID: "alice", parameters: ["amount": "50.01"])
            async let _ = self.makeBot(activation).run()
            #expect(await emulator.decision(on: small.id)?.status == .approved)
            #expect(await emulator.decision(on: large.id)?.status == .rejected)

            // An operation that comes later is found by the next poll.
            let login = try await cloud.createOperation("login", userID: "alice")
            await self.clock.waitForSleepers(1)
            self.clock.advanceToNextDeadline()
            #expect(await emulator.decision(on: login.id)?.rejectReason == "UNEXPECTED_OPERATION")

            // Nothing was refused, and every signature used the next counter value.
            let refusals = await emulator.refusals()
            #expect(refusals == [])
            #expect(await emulator.signedRequests(of: activation).areConsecutive)
        }
    }

    @Test func aBusyServerIsAskedAgainWhenItSaysSo() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let payment = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "20"]
            )
            try await emulator.withFault(.unavailable(retryAfter: 30), on: "/api/**", first: 1) {
                async let _ = self.makeBot(activation).run()
                let pause = try #require(await self.clock.nextSleep())
                #expect(pause >= .seconds(30))
                #expect(try await emulator.cloud.operation(payment.id).status == .pending)
                self.clock.advanceToNextDeadline()
                #expect(await emulator.decision(on: payment.id)?.status == .approved)
            }
            let refusals = await emulator.refusals(of: "/api/**")
            #expect(refusals == ["fault"])
        }
    }

    @Test func aPaymentWhoseResponseIsLostIsNotApprovedTwice() async throws {
        let approvals = "/api/auth/token/app/operation/authorize"
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let first = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "20"]
            )
            try await emulator.withFault(.lostAnswer, on: approvals, first: 1) {
                async let _ = self.makeBot(activation).run()
                #expect(await emulator.decision(on: first.id)?.status == .approved)

                // The bot learns of it by the next poll and goes on with the next payment, and the counter is in step.
                let second = try await emulator.cloud.createOperation(
                    "payment",
                    userID: "alice",
                    parameters: ["amount": "20"]
                )
                await self.clock.waitForSleepers(1)
                self.clock.advanceToNextDeadline()
                #expect(await emulator.decision(on: second.id)?.status == .approved)
            }
            #expect(await emulator.requests(to: approvals).accepted.count == 2)
            #expect(await emulator.signedRequests(of: activation).areConsecutive)
        }
    }
}
