import MobileToken
import MobileTokenEmulator
import MobileTokenTesting
import Synchronization
import Telemetry
import Testing

/// The adapter, fed by a real run, with loggers and metrics that have the members of the server ecosystem's.
@Suite(.timeLimit(.minutes(1))) struct TelemetryTests {
    @Test func whatTheSDKDoesArrivesInLogsAndMetrics() async throws {
        try await withEmulator { emulator in
            let client = try emulator.makeClient { configuration in
                configuration.observer = Telemetry(logger: Logger(label: "bank"), metrics: SystemMetrics())
            }
            let activation = try await emulator.makeActivation(user: "alice", password: "1234-pass", client: client)
            let service = client.operations(of: activation)
            let payment = try await emulator.cloud.createOperation("payment", userID: "alice").id
            let operation = try #require(try await service.operations().first { $0.id == payment })
            try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234-pass"))
            try await emulator.withFault(.unavailable(), on: "/api/**") {
                await #expect(throws: MobileTokenError.self) { try await service.operations() }
            }

            let lines = Logger.lines.withLock { $0 }
            let id = activation.activationID
            #expect(
                lines.contains(
                    "bank info: decision ended activation=\(id) factors=possession_knowledge operation=\(payment) "
                        + "result=accepted verdict=approve"
                )
            )
            let failure = try #require(lines.first { $0.contains("outcome=failed") })
            #expect(failure.utf8.starts(with: "bank notice: request ended activation=\(id) error=".utf8))
            #expect(!lines.joined().contains("1234-pass"))

            let values = Measured.values.withLock { $0 }
            let list = "/api/auth/token/app/operation/list"
            #expect(values["mobile_token_requests_total path=\(list) outcome=succeeded"]?.isEmpty == false)
            #expect(values["mobile_token_requests_total path=\(list) outcome=failed"] == [1])
            #expect(values["mobile_token_request_duration_seconds path=\(list)"]?.allSatisfy { $0 > 0 } == true)
            #expect(values["mobile_token_decisions_total verdict=approve result=accepted"] == [1])
            #expect(values["mobile_token_receipts_total kind=intentWritten"] == [1])
            #expect(values["mobile_token_counter_distance"]?.first == 1)
            // No dimension holds a value of which there are thousands.
            #expect(!values.keys.contains { $0.contains(id) || $0.contains(payment) })
        }
    }

    @Test func aSignatureThatWaitsIsLogged() {
        let telemetry = Telemetry(logger: Logger(label: "waits"), metrics: SystemMetrics())
        telemetry.signingWaits(.sample(activationID: "a", limit: .seconds(3)))
        let lines = Logger.lines.withLock { $0 }.filter { $0.hasPrefix("waits ") }
        #expect(lines == ["waits notice: signature waits for an earlier decision activation=a milliseconds=3000"])
    }

    @Test func whatIsLeftIsCountedByItsReasonAlone() {
        let telemetry = Telemetry(logger: Logger(label: "left"), metrics: SystemMetrics())
        for id in ["1", "2"] {
            telemetry.agentReported(
                .sample(
                    activationID: "a\(id)",
                    operationID: "o\(id)",
                    operationName: "n\(id)",
                    kind: "left",
                    reason: "overLimit",
                    detail: "overLimit"
                )
            )
        }
        #expect(Measured.values.withLock { $0["mobile_token_operations_left_total reason=overLimit"] } == [1, 1])
        let lines = Logger.lines.withLock { $0 }.filter { $0.hasPrefix("left ") }
        #expect(lines.first?.contains("activation=a1 detail=overLimit kind=left name=n1") == true)
        #expect(lines.last?.contains("operation=o2 reason=overLimit") == true)
    }
}
