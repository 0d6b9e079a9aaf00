#if Logging
    import InMemoryLogging
    import Logging
    import MobileToken
    import MobileTokenEmulator
    import MobileTokenObserving
    import MobileTokenTesting
    import Testing

    @Suite(.timeLimit(.minutes(5))) struct LoggingTests {
        @Test func aClientsLoggerTellsWhatWasDecidedAndNoSecret() async throws {
            let log = InMemoryLogHandler()
            var logger = Logger(label: "bank", factory: { _ in log })
            logger.logLevel = .trace
            logger.handler.metadataProvider = Logger.MetadataProvider { Call.id.map { ["call": "\($0)"] } ?? [:] }
            try await withEmulator { [logger] emulator in
                let client = try emulator.makeClient { $0.logger = logger }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234-pass", client: client)
                let service = client.makeOperationsService(for: activation)
                let made = try await emulator.cloud.createOperation("login", userID: "alice")
                let operation = try #require(try await service.operations().first)
                try await Call.$id.withValue(7) {
                    try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234-pass"))
                }
                try await emulator.withFault(.unavailable(), on: "/api/**") {
                    await #expect(throws: MobileTokenError.self) { try await service.operations() }
                }

                let decision = try #require(log.entries.first { $0.message == "decision ended" })
                #expect(decision.level == .info)
                #expect(decision.metadata["mobile_token.activation"] == .string(activation.activationID))
                #expect(decision.metadata["mobile_token.operation"] == .string(made.id))
                #expect(decision.metadata["mobile_token.verdict"] == "approve")
                #expect(decision.metadata["mobile_token.result"] == "accepted")
                // The metadata of the call, through the tasks that did the work.
                #expect(decision.metadata["call"] == "7")
                let failed = log.entries.filter { $0.metadata["mobile_token.outcome"] == "failed" }
                #expect(failed.map(\.level) == [.info])
                #expect(failed.first?.metadata["mobile_token.status"] == "503")
                #expect(log.entries.contains { $0.level == .debug && $0.message == "request ended" })

                let secrets = ["1234-pass", emulator.sdkConfiguration]
                for entry in log.entries {
                    let line = "\(entry.message) \(entry.metadata)"
                    #expect(!secrets.contains { line.contains($0) }, "\(line)")
                    #expect(entry.metadata.keys.allSatisfy { $0.hasPrefix("mobile_token.") || $0 == "call" })
                }
            }
        }

        /// Only a changed state that may need a person is a warning or an error.
        @Test func whatRepeatsIsNoWarning() {
            let log = InMemoryLogHandler()
            var logger = Logger(label: "bank", factory: { _ in log })
            logger.logLevel = .trace
            let observer = LogObserver(logger: logger)
            for kind in ["judged", "left", "refused", "retrying", "unanswered", "stopped", "unknown"] {
                observer.agentReported(
                    .sample(activationID: "a", operationID: "o", operationName: "n", kind: kind, detail: "")
                )
            }
            observer.signingWaits(.sample(activationID: "a", limit: .seconds(3)))
            // No value from outside stops the process.
            observer.signingWaits(.sample(activationID: "a", limit: .seconds(Int64.max)))
            let severe = log.entries.filter { $0.level >= .warning }
            #expect(severe.map { $0.metadata["mobile_token.kind"] } == ["stopped", "unknown"])
            #expect(log.entries.count == 9)
        }
    }

    private enum Call { @TaskLocal static var id: Int? }
#endif
