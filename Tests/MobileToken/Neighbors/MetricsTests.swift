#if Metrics
    import Metrics
    import MetricsTestKit
    import MobileToken
    import MobileTokenEmulator
    import MobileTokenObserving
    import MobileTokenTesting
    import Testing

    @Suite(.timeLimit(.minutes(5))) struct MetricsTests {
        @Test func aDecisionIsCountedAndNoLabelHoldsAnIdentifier() async throws {
            let metrics = TestMetrics()
            try await withEmulator { emulator in
                let client = try emulator.makeClient { $0.observer = MetricsObserver(factory: metrics) }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234-pass", client: client)
                let service = client.makeOperationsService(for: activation)
                let made = try await emulator.cloud.createOperation("login", userID: "alice")
                let operation = try #require(try await service.operations().first)
                try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234-pass"))
                try await emulator.withFault(.unavailable(), on: "/api/**") {
                    await #expect(throws: MobileTokenError.self) { try await service.operations() }
                }

                let list = ("path", "/api/auth/token/app/operation/list")
                func count(_ name: String, _ labels: [(String, String)]) throws -> Int64 {
                    try metrics.expectCounter(name, labels).totalValue
                }
                #expect(try count("mobile_token_requests_total", [list, ("outcome", "succeeded")]) == 1)
                #expect(try count("mobile_token_requests_total", [list, ("outcome", "failed")]) == 1)
                #expect(
                    try count("mobile_token_decisions_total", [("verdict", "approve"), ("result", "accepted")]) == 1
                )
                #expect(try count("mobile_token_receipts_total", [("kind", "intentWritten")]) == 1)
                #expect(try count("mobile_token_operations_listed_total", []) == 1)
                #expect(try metrics.expectTimer("mobile_token_request_duration_seconds", [list]).values.count == 2)
                #expect(try metrics.expectRecorder("mobile_token_counter_distance").values.first == 1)
                let labels = metrics.counters.flatMap(\.dimensions) + metrics.timers.flatMap(\.dimensions)
                #expect(!labels.contains { [activation.activationID, made.id].contains($0.1) })
            }
        }

        @Test func aLabelHasAHundredValuesAtMost() throws {
            let metrics = TestMetrics()
            let observer = MetricsObserver(factory: metrics)
            for number in 0..<1_000 {
                observer.agentReported(
                    .sample(
                        activationID: "a",
                        operationID: "o",
                        operationName: "n",
                        kind: "left",
                        reason: "reason \(number)",
                        detail: ""
                    )
                )
            }
            let left = metrics.counters.filter { $0.label == "mobile_token_operations_left_total" }
            #expect(left.count == 101)
            let other = try metrics.expectCounter("mobile_token_operations_left_total", [("reason", "other")])
            #expect(other.totalValue == 900)
        }
    }
#endif
