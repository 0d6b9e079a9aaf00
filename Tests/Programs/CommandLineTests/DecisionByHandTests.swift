import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// A person, or a script in a person's place, decides only what was shown as a whole.
@Suite(.timeLimit(.minutes(5))) struct DecisionByHandTests {
    @Test func anEmptyNameDecidesNothing() async throws {
        try await withActivatedProgram { emulator, home in
            let payment = try await emulator.cloud.createOperation("payment", userID: "alice")
            for words in [
                ["approve", "", "--password-stdin"], ["reject", ""], ["show", ""], ["wait", ""], ["claim", ""],
            ] {
                #expect(try await Program.run(words, home: home.url, input: "1234\n").exitCode == 2, "\(words)")
            }
            #expect(try await emulator.cloud.operation(payment.id).status == .pending)
        }
    }

    @Test func whatDoesNotFitTogetherIsAcceptedByNameOrNotSigned() async throws {
        try await withActivatedProgram { emulator, home in
            let deceptive = try await emulator.cloud.createOperation(
                named: "authorize_payment",
                data: "A1*A999999CZK*ICZ6508000000192000145399",
                formData: [
                    "title": "Payment", "message": "Pay 50 CZK?",
                    "attributes": [
                        [
                            "type": "AMOUNT", "id": "operation.amount", "label": "Amount", "amount": 50,
                            "currency": "CZK",
                        ]
                    ],
                ],
                userID: "alice"
            )
            func approve(_ more: String...) async throws -> ChildProcess.Outcome {
                try await Program.run(
                    ["approve", deceptive.id, "--password-stdin"] + more,
                    home: home.url,
                    input: "1234\n"
                )
            }
            let shown = try await approve()
            #expect(shown.exitCode == 12)
            for words in [
                "999999 CZK", "CZ6508000000192000145399", "amountNotSigned", "amountNotShown", "accountNotShown",
            ] {
                #expect(shown.errors.contains(words), "\(words)")
            }
            #expect(try await approve("--accept", "amountNotSigned,amountNotShown").exitCode == 12)
            let json = try await approve("--json")
            let failure = try JSONValue(parsing: json.errors)
            #expect(json.exitCode == 12 && failure["error"]?["code"] == "doubts")
            #expect(
                failure["doubts"]?.array?.compactMap { $0["kind"]?.string }.sorted() == [
                    "accountNotShown", "amountNotShown", "amountNotSigned", "amountNotSigned",
                ]
            )
            #expect(try await emulator.cloud.operation(deceptive.id).status == .pending)

            let page = try await Program.run("show", deceptive.id, home: home.url)
            #expect(page.output.contains("999999 CZK") && page.output.contains("amountNotSigned"))
            #expect(try await approve("--accept", "amountNotSigned,amountNotShown,accountNotShown").exitCode == 0)
            #expect(try await emulator.cloud.operation(deceptive.id).status == .approved)
        }
    }

    @Test func whatGetsSignedOfAQRCodeIsShown() async throws {
        try await withActivatedProgram { emulator, home, id in
            let payment = try await emulator.cloud.createOperation(
                "payment",
                userID: "alice",
                parameters: ["amount": "4321.00", "note": "to CZ6508000000192000145399"]
            )
            let code = try await emulator.cloud.offlineCode(operation: payment.id, registration: id).content
            let outcome = try await Program.run("offline", code, "--password-stdin", home: home.url, input: "1234\n")
            #expect(outcome.exitCode == 0, "\(outcome.errors)")
            #expect(outcome.errors.contains("4321.00 CZK") && outcome.errors.contains("CZ5508000000001234567899"))
        }
    }
}
