import EmulatorHTTP
import EmulatorMessages
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ServerLifecycleTests {
    @Test func stoppingEndsEveryConnectionWhateverItsState() async throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0)
        let (arrivals, arrived) = AsyncStream.makeStream(of: String.self)
        let service = Task {
            await server.run { request in
                arrived.yield(request.path)
                switch request.path {
                case "/never":
                    await waitForCancellation()
                    return ServerResponse(status: 200, body: .bytes([]))
                case "/stream":
                    return ServerResponse(
                        status: 200,
                        body: .produced(length: nil) { stream in
                            stream.write("beginning".utf8)
                            await waitForCancellation()
                        }
                    )
                default:
                    return await Echo.answer(request)
                }
            }
        }
        var clients: [RawConnection] = []
        for text in ["GET /never HTTP/1.1\r\nHost: x\r\n\r\n", "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", Echo.post] {
            let client = try RawConnection(port: server.port)
            try await client.send(text)
            clients.append(client)
        }
        #expect(try await clients[1].responseHeadAndChunk().hasSuffix("beginning"))
        #expect(try await clients[2].response().text == Echo.answerToPost)
        clients.append(try RawConnection(port: server.port))  // says nothing
        clients.append(try RawConnection(port: server.port))
        try await clients[4].send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        var iterator = arrivals.makeAsyncIterator()
        for _ in 0..<3 { _ = await iterator.next() }

        await service.stop()
        for client in clients { _ = await client.readUntilEnd() }  // returns only because each has ended
        #expect(throws: (any Error).self) { try RawConnection(port: server.port) }
        #expect(server.connectionCount == 0)
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() throws {
        let first = try HTTPServer(host: "127.0.0.1", port: 0)
        let error = #expect(throws: ListeningError.self) { try HTTPServer(host: "127.0.0.1", port: first.port) }
        #expect(error?.code == .addressInUse)
        for host in ["203.0.113.1", "nonsense", "::ffff:1:2:3:4:5:6:7"] {
            let error = #expect(throws: ListeningError.self) { try HTTPServer(host: host, port: 0) }
            #expect(error?.code == .cannotListen)
        }
    }

    @Test func aPortIsFreeAgainWhenTheServerHasStopped() async throws {
        let port = try await withServer(Echo.answer) { server in
            try await server.expectService()
            return server.port
        }
        for _ in 0..<5 {
            let server = try HTTPServer(host: "127.0.0.1", port: port)
            let service = Task { await server.run(Echo.answer) }
            try await server.expectService()
            await service.stop()
        }
    }
}
