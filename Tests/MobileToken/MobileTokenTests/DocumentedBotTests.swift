import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// The bots of the documents, against what a bank may send and what may fail.
@Suite(.timeLimit(.minutes(5))) struct DocumentedBotTests {
    enum Bot: CaseIterable {
        /// Of TestingABot.
        case limited
        /// Of the README and of OperationsService.
        case smallPayments

        func run(_ activation: Activation, _ clock: ManualClock, password: String = "1234") async throws {
            var configuration = OperationsService.Configuration()
            configuration.clock = clock
            let operations = OperationsService(activation: activation, configuration: configuration)
            switch self {
            case .limited:
                try await ApprovalBot(
                    operations: operations,
                    authentication: .possessionAndKnowledge(password: password),
                    limit: 50
                ).run()
            case .smallPayments: try await runSmallPaymentBot(operations, of: activation, password: password)
            }
        }
    }

    private static let amount: JSONValue = [
        "type": "AMOUNT", "id": "operation.amount", "label": "Amount", "amount": 10, "currency": "CZK",
    ]
    private static let account: JSONValue = [
        "type": "KEY_VALUE", "id": "operation.account", "label": "To", "value": "CZ5508000000001234567899",
    ]

    /// An amount that differs in one thing from one that is approved.
    private static func amount(_ name: String, _ value: JSONValue?, _ more: JSONObject = [:]) -> JSONValue {
        var object = Self.amount.object ?? [:]
        object[name] = value
        object.members += more.members
        return .object(object)
    }

    /// Attributes with which the bot may not approve, since it does not understand the whole.
    private static let refused: [String: [JSONValue]] = [
        "a string": [amount("amount", "10")],
        "formatted only": [amount("amount", nil, ["amountFormatted": "10,00"])],
        "another currency": [amount("currency", "EUR")],
        "formatted currency only": [amount("currency", nil, ["currencyFormatted": "CZK"])],
        "three, one a string": [amount, amount("amount", "1000000"), amount],
        "three, one formatted only": [amount, amount("amount", nil, ["amountFormatted": "1 000 000"]), amount],
        "three, one in another currency": [amount, amount("currency", "BTC"), amount],
        "two that are small each": [amount("amount", 40), amount("amount", 40)],
        "too much": [amount("amount", 51)], "nothing": [amount("amount", 0)], "negative": [amount("amount", -10)],
        "none": [account], "no attribute": [],
        "one without a name": [amount, ["type": "AMOUNT", "amount": 1_000_000, "currency": "CZK"]],
        "an unknown type": [amount, ["type": "FEE", "id": "fee", "label": "Fee", "amount": 1_000_000]],
        "a warning": [
            amount, ["type": "ALERT", "id": "alert", "label": "Alert", "alertType": "WARNING", "message": "Fraud?"],
        ],
        "a conversion": [
            [
                "type": "AMOUNT_CONVERSION", "id": "conversion", "label": "Conversion", "dynamic": true,
                "sourceAmount": 10, "sourceCurrency": "CZK", "targetAmount": 10, "targetCurrency": "CZK",
            ]
        ],
    ]

    @Test(arguments: Bot.allCases) func whatIsNotUnderstoodIsNotApproved(bot: Bot) async throws {
        let clock = ManualClock()
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let first = try await emulator.makePayment(
                [Self.amount, Self.account],
                data: "A1*A10CZK*ICZ5508000000001234567899"
            )
            var refused: [String: String] = [:]
            for (name, attributes) in Self.refused { refused[name] = try await emulator.makePayment(attributes) }
            refused["another name"] = try await emulator.makePayment([Self.amount], name: "authorize_login")
            refused["a name that begins alike"] = try await emulator.makePayment(
                [Self.amount],
                name: "authorize_payment_limit"
            )
            refused["attributes that are no list"] = try await emulator.makePayment("none")
            refused["an amount that is not signed"] = try await emulator.makePayment([Self.amount], data: "A1")
            refused["another amount that is signed"] = try await emulator.makePayment(
                [Self.amount],
                data: "A1*A1000000CZK"
            )
            let screen: JSONValue = ["preApprovalScreen": ["type": "WARNING", "heading": "Fraud?", "message": "Stop"]]
            refused["a screen to read first"] = try await emulator.makePayment([Self.amount], ui: screen)
            let last = try await emulator.makePayment([Self.amount])

            async let _ = bot.run(activation, clock)
            for id in [first, last] { #expect(await emulator.decision(on: id)?.status == .approved) }
            for (name, id) in refused {
                switch bot {
                case .limited: #expect(await emulator.decision(on: id)?.status == .rejected, "\(name)")
                case .smallPayments: #expect(try await emulator.cloud.operation(id).status == .pending, "\(name)")
                }
            }
            #expect(await emulator.requests(to: "/api/auth/token/app/operation/authorize").count == 2)
        }
    }

    @Test(arguments: Bot.allCases) func aFailedDecisionIsTriedAgainAndTheOthersAreMade(bot: Bot) async throws {
        let clock = ManualClock()
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            var payments: [String] = []
            for _ in 0..<3 { payments.append(try await emulator.makePayment([Self.amount])) }
            let approvals = "/api/auth/token/app/operation/authorize"
            try await emulator.withFault(.init(status: 500), on: approvals, first: 1) { () async throws in
                async let _ = bot.run(activation, clock)
                // The oldest comes first, and its decision fails.
                for id in payments.dropFirst() { #expect(await emulator.decision(on: id)?.status == .approved) }
                #expect(try await emulator.cloud.operation(payments[0]).status == .pending)
                await clock.waitForSleepers(1)
                clock.advanceToNextDeadline()
                #expect(await emulator.decision(on: payments[0])?.status == .approved)
            }
            // One attempt failed, and it took one more.
            #expect(await emulator.requests(to: approvals).count == 4)
            #expect(await emulator.refusals(of: "/api/**") == ["fault"])
        }
    }

    @Test(arguments: Bot.allCases) func theEndOfTheActivationIsTheEndOfTheBot(bot: Bot) async throws {
        let clock = ManualClock()
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let payment = try await emulator.makePayment([Self.amount])
            async let end = Self.error { try await bot.run(activation, clock) }
            #expect(await emulator.decision(on: payment)?.status == .approved)
            try await activation.removeLocally()
            await clock.waitForSleepers(1)
            clock.advanceToNextDeadline()
            #expect(await end?.code == .unknownActivation)
        }
    }

    /// The fifth attempt would block the activation.
    @Test(arguments: Bot.allCases) func aWrongPasswordIsTriedOnce(bot: Bot) async throws {
        let clock = ManualClock()
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            for _ in 0..<3 { _ = try await emulator.makePayment([Self.amount]) }
            let error = await Self.error { try await bot.run(activation, clock, password: "4321") }
            #expect(error?.code == .authenticationFailed)
            #expect(await emulator.summary(of: activation)?.failedAttempts == 1)
        }
    }

    @Test(arguments: Bot.allCases) func aCanceledBotReturns(bot: Bot) async throws {
        let clock = ManualClock()
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            let payment = try await emulator.makePayment([Self.amount])
            let task = Task { try await bot.run(activation, clock) }
            #expect(await emulator.decision(on: payment)?.status == .approved)
            task.cancel()
            _ = await task.result
        }
    }

    private static func error(_ body: () async throws -> Void) async -> MobileTokenError? {
        do {
            try await body()
            return nil
        } catch {
            return error as? MobileTokenError
        }
    }
}

extension Emulator {
    fileprivate func makePayment(
        _ attributes: JSONValue,
        name: String = "authorize_payment",
        data: String = "A1*A10CZK",
        ui: JSONValue? = nil
    ) async throws -> String {
        var body: JSONObject = [
            "userId": "alice", "operationType": .string(name), "data": .string(data),
            "formData": ["title": "Payment", "message": "Confirm", "attributes": attributes],
        ]
        body["ui"] = ui
        let request = ReceivedRequest(
            method: "POST",
            path: "/v2/operations",
            headers: [("Content-Type", "application/json")],
            body: JSONValue.object(body).serialized()
        )
        guard case .bytes(let bytes) = await self.core.respond(to: request, from: .process).body else {
            throw EmulatorError(.refused, "no body")
        }
        return try #require(JSONValue(parsing: bytes)["operationId"]?.string)
    }

    fileprivate func makePayment(
        _ attributes: [JSONValue],
        name: String = "authorize_payment",
        data: String = "A1*A10CZK",
        ui: JSONValue? = nil
    ) async throws -> String {
        try await self.makePayment(.array(attributes), name: name, data: data, ui: ui)
    }
}
