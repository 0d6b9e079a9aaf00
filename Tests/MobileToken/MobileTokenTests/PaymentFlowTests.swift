import ExactJSON
import Foundation
import MobileTokenTesting
import Synchronization
import Testing

extension Trait where Self == IssueHandlingTrait {
    /// Lets a failed expectation show what the development server has refused.
    static var showingRefusals: Self {
        .compactMapIssues { issue in
            Emulator.noteIssue("\(issue)")
            return issue
        }
    }
}

/// A payment from the bank's order to its callback, written as the pages say it; `test_payment_flow.py` has the same tests.
@Suite(.showingRefusals, .timeLimit(.minutes(5))) struct PaymentFlowTests {
    private static let approvals = "/api/auth/token/app/operation/authorize"

    @Test func anApprovedPaymentIsToldToTheBank() async throws {
        try await withSpace { bank in
            let told = Mutex<[String]>([])
            try await withCallbackReceiver { body in
                let status = (try? JSONDecoder().decode([String: String].self, from: Data(body)))?["status"] ?? ""
                told.withLock { $0.append(status) }
                return 200
            } _: { url in
                try await bank.cloud.createCallback(
                    .init(name: "bank", subject: .operations, url: url, attributes: ["status"])
                )
                try await bank.makeDevice(userID: "alice")
                let payment = try await bank.cloud.createOperation("payment", userID: "alice")
                #expect(await bank.decision(on: payment.id)?.status == .approved)
                try await bank.settle(within: .seconds(60))
                #expect(told.withLock { $0 } == ["PENDING", "APPROVED"])
            }
        }
    }

    @Test func aRejectionHasItsReason() async throws {
        try await withSpace { bank in
            try await bank.makeDevice(userID: "alice", rule: .init(.reject, reason: "INCORRECT_DATA"))
            let payment = try await bank.cloud.createOperation("payment", userID: "alice")
            #expect(await bank.decision(on: payment.id)?.rejectReason == "INCORRECT_DATA")
        }
    }

    @Test func aWrongPasswordLeavesThePaymentPending() async throws {
        try await withSpace { bank in
            try await bank.makeDevice(userID: "alice", rule: .init(.wrongPassword))
            let payment = try await bank.cloud.createOperation("payment", userID: "alice")
            try await bank.settle(within: .seconds(60))
            let shown = try await bank.cloud.operation(payment.id)
            #expect(shown.status == .pending && shown.failureCount == 1)
        }
    }

    @Test func theFifthWrongPasswordEndsThePayment() async throws {
        try await withSpace { bank in
            let phone = try await bank.makeDevice(userID: "alice", rule: .init(.never))
            let payment = try await bank.cloud.createOperation("payment", userID: "alice")
            for _ in 1...5 { try await bank.decide(payment.id, .wrongPassword, byDevice: phone.id) }
            #expect(try await bank.cloud.operation(payment.id).status == .failed)
            #expect(await bank.activations().map(\.status) == [.blocked])
        }
    }

    @Test func aPaymentExpires() async throws {
        try await withSpace { bank in
            await bank.clock.freeze()
            let payment = try await bank.cloud.createOperation("payment", userID: "alice", lifetime: .seconds(120))
            await bank.clock.advance(by: .seconds(121))
            #expect(try await bank.cloud.operation(payment.id).status == .expired)
        }
    }

    @Test func aCustomerMayTakeTime() async throws {
        try await withSpace { bank in
            await bank.clock.freeze()
            try await bank.makeDevice(userID: "alice", rule: .init(.approve, after: 30))
            let payment = try await bank.cloud.createOperation("payment", userID: "alice")
            try await bank.settle(within: .seconds(60))
            await bank.clock.advance(by: .seconds(30))
            #expect(await bank.decision(on: payment.id)?.status == .approved)
        }
    }

    @Test func anApprovalWhoseResponseIsLostCountsOnce() async throws {
        try await withSpace { bank in
            await bank.clock.freeze()
            try await bank.withFault(.lostAnswer, on: Self.approvals, first: 1) {
                try await bank.makeDevice(userID: "alice")
                let payment = try await bank.cloud.createOperation("payment", userID: "alice")
                #expect(await bank.decision(on: payment.id)?.status == .approved)
                try await bank.settle(within: .seconds(60))
                await bank.clock.advance(by: .seconds(10))
                try await bank.settle(within: .seconds(60))
                #expect(await bank.history(ofOperation: payment.id).count { $0.kind == .approved } == 1)
            }
        }
    }

    @Test func aBusyServerTakesTheOrderLater() async throws {
        try await withSpace { bank in
            try await bank.withFault(.unavailable(), on: "/v2/operations", first: 1) {
                let refused = await #expect(throws: CloudError.self) {
                    try await bank.cloud.createOperation("payment", userID: "alice")
                }
                #expect(refused?.httpStatus == 503)
                let order = try await bank.cloud.createOperation("payment", userID: "alice")
                #expect(order.status == .pending)
            }
        }
    }

    @Test func aCallbackIsSentUntilTheBankTakesIt() async throws {
        try await withSpace { bank in
            await bank.clock.freeze()
            let status = Mutex(503)
            try await withCallbackReceiver { _ in
                status.withLock { $0 }
            } _: { url in
                try await bank.cloud.createCallback(
                    .init(name: "bank", subject: .operations, url: url, maximumAttempts: 3)
                )
                try await bank.cloud.createOperation("payment", userID: "alice")
                try await bank.settle(within: .seconds(60))
                #expect(bank.deliveries().map(\.status) == [503])
                status.withLock { $0 = 200 }
                await bank.clock.advance(by: .seconds(2))
                try await bank.settle(within: .seconds(60))
                #expect(bank.deliveries().map(\.state) == [.delivered])
            }
        }
    }

    @Test func whatIsSignedIsWhatWasOrdered() async throws {
        try await withSpace { bank in
            let payment = try await bank.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "1710", "currency": "JPY", "note": "Rent"]
            )
            #expect(payment.data == "A1*A1710JPY*ICZ5508000000001234567899*R2026*NRent")
        }
    }

    @Test func whoClaimsAPaymentDecidesIt() async throws {
        try await withSpace { bank in
            let phone = try await bank.makeDevice(userID: "bob")
            let payment = try await bank.cloud.createOperation("payment", userID: nil)
            try await bank.claim(payment.id, byDevice: phone.id)
            #expect(await bank.decision(on: payment.id)?.userID == "bob")
        }
    }

    @Test func aCanceledPaymentCannotBeApproved() async throws {
        try await withSpace { bank in
            let phone = try await bank.makeDevice(userID: "alice", rule: .init(.never))
            let payment = try await bank.cloud.createOperation("payment", userID: "alice")
            try await bank.cloud.cancelOperation(payment.id, reason: "MISTAKE")
            await #expect(throws: EmulatorError.self) {
                try await bank.decide(payment.id, .approve, byDevice: phone.id)
            }
            #expect(try await bank.cloud.operation(payment.id).statusReason == "MISTAKE")
        }
    }
}
