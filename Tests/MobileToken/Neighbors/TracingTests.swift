#if Tracing
    import Foundation
    import HTTPClientTransport
    import InMemoryTracing
    import MobileToken
    import MobileTokenEmulator
    import MobileTokenTesting
    import TestSupport
    import Testing
    import Tracing

    @Suite(.timeLimit(.minutes(5))) struct TracingTests {
        /// Keeps the requests that pass.
        private struct Recorder: HTTPTransport {
            let base: CurlTransport
            let requests = Shared<[HTTPRequest]>([])

            func send(_ request: HTTPRequest) async throws -> HTTPResponse {
                self.requests.update { $0.append(request) }
                return try await self.base.send(request)
            }
        }

        @Test(arguments: [false, true]) func spansNestAndTheirContextIsSentWhereAskedFor(isSent: Bool) async throws {
            let tracer = InMemoryTracer()
            let recorder = Recorder(base: try CurlTransport())
            try await withEmulator { emulator in
                let client = try emulator.makeClient {
                    $0.transport = recorder
                    $0.tracer = tracer
                    $0.sendsTraceContext = isSent
                }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234-pass", client: client)
                let service = client.makeOperationsService(for: activation)
                let made = try await emulator.cloud.createOperation("login", userID: "alice")
                let polling = Task { try await service.run() }
                await until { !service.list.operations.isEmpty }
                await until { tracer.finishedSpans.contains { $0.operationName == "mobile_token.poll" } }
                polling.cancel()
                try await polling.value
                let operation = try #require(service.list.operations.first)
                try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234-pass"))

                let spans = tracer.finishedSpans
                func requests(_ path: String) -> [FinishedInMemorySpan] {
                    spans.filter { "\($0.attributes["url.full"] ?? "")".contains(path) }
                }
                let decision = try #require(spans.first { $0.operationName == "mobile_token.decision" })
                #expect(decision.attributes["mobile_token.operation"]?.toSpanAttribute() == .string(made.id))
                let signed = requests("/operation/authorize")
                #expect(signed.map(\.parentSpanID) == [decision.spanID])
                #expect(signed.map(\.operationName) == ["POST"])
                #expect(signed.first?.kind == .client)
                #expect(signed.first?.attributes["http.response.status_code"]?.toSpanAttribute() == .int64(200))
                let poll = try #require(spans.first { $0.operationName == "mobile_token.poll" })
                #expect(requests("/operation/list").first?.parentSpanID == poll.spanID)

                for request in recorder.requests.value {
                    let id = request.headers[InMemoryTracer.spanIDKey]
                    #expect(isSent ? spans.contains { $0.spanID == id } : id == nil)
                }
                #expect(tracer.performedContextInjections.isEmpty == !isSent)
                for span in spans { #expect(!"\(span)".contains("1234-pass")) }
            }
            await recorder.base.shutdown()
        }

        @Test func aFailureIsTheSpans() async throws {
            let tracer = InMemoryTracer()
            try await withEmulator { emulator in
                let client = try emulator.makeClient { $0.tracer = tracer }
                let activation = try await emulator.makeActivation(user: "alice", password: "1234-pass", client: client)
                let service = client.makeOperationsService(for: activation)
                try await emulator.withFault(.unavailable(), on: "/api/**") {
                    await #expect(throws: MobileTokenError.self) { try await service.operations() }
                }
                let failed = tracer.finishedSpans.filter { $0.status?.code == .error }
                #expect(failed.map { $0.attributes["error.type"]?.toSpanAttribute() } == [.string("503")])
            }
        }
    }
#endif
