import HTTPClientTransport
import TestSupport
import Testing

/// A signed request must not reach the server twice; a kept connection that has died must not cost a request.
@Suite(.timeLimit(.minutes(5))) struct DeliveryTests {
    /// A server whose first connection answers once, then takes a second request and lets the connection die; every
    /// later connection answers well.
    private func dyingServer(_ die: @escaping @Sendable (ScriptedConnection) -> Void) throws -> ScriptedServer {
        try ScriptedServer { connection in
            guard connection.index == 0 else { return connection.answerAll() }
            connection.readRequest()
            connection.answer()
            connection.readRequest()
            die(connection)
        }
    }

    @Test(arguments: [true, false], [HTTPRequest.Method.post, .get, .put, .delete])
    func aRequestThatMayHaveArrivedIsNotSentAgain(isReset: Bool, method: HTTPRequest.Method) async throws {
        let server = try self.dyingServer { isReset ? $0.reset() : $0.close() }
        defer { server.stop() }
        let transport = try TestedTransport()
        _ = try await transport.send(HTTPRequest(url: server.url, body: Array("first".utf8)))
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(method, url: server.url, body: Array("signed".utf8)))
        }
        #expect(error?.code == .connectionLost)
        _ = try await transport.send(HTTPRequest(url: server.url, body: Array("third".utf8)))
        await transport.shutdown()
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["first", "signed", "third"])
    }

    @Test func aRequestWithoutBodyIsNotSentAgainEither() async throws {
        let server = try self.dyingServer { $0.close() }
        defer { server.stop() }
        let transport = try TestedTransport()
        _ = try await transport.send(HTTPRequest(.get, url: server.url))
        await #expect(throws: HTTPTransportError.self) { try await transport.send(HTTPRequest(.post, url: server.url)) }
        await transport.shutdown()
        #expect(server.requests.count == 2)
    }

    @Test(arguments: [true, false])
    func aRepeatableRequestIsSentAgain(isReset: Bool) async throws {
        let server = try self.dyingServer { isReset ? $0.reset() : $0.close() }
        defer { server.stop() }
        let transport = try TestedTransport()
        _ = try await transport.send(HTTPRequest(url: server.url))
        let request = HTTPRequest(url: server.url, body: Array("poll".utf8), isRepeatable: true)
        #expect(try await transport.send(request).status == 200)
        await transport.shutdown()
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["", "poll", "poll"])
    }

    @Test(arguments: [true, false])
    func aConnectionThatDiedWhileIdleCostsNothing(isReset: Bool) async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.answer()
            isReset ? connection.reset() : connection.close()
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        for number in 0..<20 {
            #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).status == 200)
            await server.waitFor(.closed(connection: number))
            // The server has let go, but the news may still be on its way through a busy kernel.
            try await KernelSockets.waitUntilNothingIsConnected(to: server.port)
        }
        await transport.shutdown()
        #expect(server.requests.count == 20)
        #expect(server.acceptedCount == 20)
    }

    @Test(arguments: [false, true]) func aRequestWhoseTimeHasPassedIsNotSent(isConnected: Bool) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        if isConnected { _ = try await transport.send(HTTPRequest(url: server.url, body: Array("before".utf8))) }
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(url: server.url, body: Array("late".utf8), notAfter: .now))
        }
        #expect(error?.code == .tooLate)
        let request = HTTPRequest(url: server.url, body: Array("in time".utf8), notAfter: .now + .seconds(600))
        #expect(try await transport.send(request).status == 200)
        await transport.shutdown()
        let bodies = server.requests.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == (isConnected ? ["before", "in time"] : ["in time"]))
    }

    /// Its time passes while another request has the only connection.
    @Test func aRequestThatWaitedTooLongForAConnectionIsNotSent() async throws {
        let gate = ThreadGate()
        let server = try ScriptedServer { connection in
            guard connection.index == 0 else { return connection.answerAll() }
            connection.readRequest()
            gate.wait()
            connection.answer()
            connection.answerAll()
        }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 1 })
        let first = Task { try await transport.send(HTTPRequest(url: server.url, body: Array("first".utf8))) }
        await server.wait { !$0.isEmpty }
        let end = ContinuousClock.now + .milliseconds(50)
        let late = Task {
            try await transport.send(HTTPRequest(url: server.url, body: Array("late".utf8), notAfter: end))
        }
        while ContinuousClock.now <= end { await Task.yield() }
        gate.arrive()
        let error = await #expect(throws: HTTPTransportError.self) { try await late.value }
        // Of an HTTP client that has written the head, nobody says that nothing was sent.
        #expect(error?.code == .tooLate || (!TestedTransport.isCurl && error?.code == .connectionLost))
        #expect(try await first.value.status == 200)
        #expect(try await transport.send(HTTPRequest(url: server.url, body: Array("third".utf8))).status == 200)
        await transport.shutdown()
        #expect(server.requests.map { String(decoding: $0.body, as: UTF8.self) } == ["first", "third"])
    }
}
