import HTTPClientTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct CancellationTests {
    /// The progress of the exchange when the task is cancelled.
    enum Point: CaseIterable {
        case accepted, sendingBody, waiting, inHead, inBody, inChunk
    }

    @Test(arguments: Point.allCases)
    func cancellingTakesTheTransferOffTheWire(at point: Point) async throws {
        let server = try ScriptedServer { connection in
            guard connection.index == 0 else { return connection.answerAll() }
            switch point {
            case .accepted, .sendingBody: break
            case .waiting: connection.readRequest()
            case .inHead:
                connection.readRequest()
                connection.write("HTTP/1.1 200 OK\r\nContent-Le")
            case .inBody:
                connection.readRequest()
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
            case .inChunk:
                connection.readRequest()
                connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab")
            }
            connection.reach("point")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let body = [UInt8](repeating: 0, count: point == .sendingBody ? 8_000_000 : 10)
        let task = Task { try await transport.send(HTTPRequest(url: server.url, body: body)) }
        await server.waitFor(.reached(connection: 0, "point"))
        await #expect(throws: CancellationError.self) { try await task.stop() }
        await server.waitFor(.clientClosed(connection: 0))

        #expect(try await transport.send(HTTPRequest(url: server.url)).status == 200)
        await transport.shutdown()
    }

    @Test func cancellingWhileConnectingGivesTheConnectionUp() async throws {
        let blocked = try BlockedListener()
        let transport = try TestedTransport()
        let task = Task { try await transport.send(HTTPRequest(url: blocked.url)) }
        try await blocked.waitForKnocks(1)
        await #expect(throws: CancellationError.self) { try await task.stop() }
        await transport.shutdown()
    }

    @Test func aTaskCancelledBeforehandSendsNothing() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await transport.send(HTTPRequest(url: server.url))
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        _ = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        #expect(server.requests.count == 1)
    }

    @Test func cancellingOneThatWaitsForItsTurnLeavesTheOthersAlone() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.reach("holding")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 1 })
        let first = Task { try await transport.send(HTTPRequest(url: server.url)) }
        await server.waitFor(.reached(connection: 0, "holding"))
        let waiting = (0..<20).map { _ in Task { try await transport.send(HTTPRequest(url: server.url)) } }
        for task in waiting.dropFirst() {
            await #expect(throws: CancellationError.self) { try await task.stop() }
        }
        first.cancel()
        await server.waitFor(.reached(connection: 1, "holding"))  // the one that was not cancelled
        await #expect(throws: CancellationError.self) { try await waiting[0].stop() }
        await transport.shutdown()
        #expect(server.requests.count == 2)
    }

    /// The answer and the cancellation race; whichever wins, the call ends, and exactly once.
    @Test func everyCallEndsWhicheverComesFirst() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        // A busy machine makes the connections of a thousand calls in minutes.
        var configuration = CurlTransport.Configuration()
        (configuration.timeout, configuration.connectTimeout) = (.seconds(200), .seconds(200))
        let transport = try TestedTransport(configuration: configuration)
        try await expectThatEveryCallEnds(of: transport, at: server.url, count: 1000)
        await transport.shutdown()
    }
}
