import EmulatorHTTP
import EmulatorMessages
import MobileTokenTesting
import TestSupport
import Testing

/// The limits on the data and waits that clients can cause, and the service for others meanwhile.
@Suite(.timeLimit(.minutes(5))) struct ServerLimitsTests {
    @Test(arguments: ["Content-Length: 4194305\r\n", "Transfer-Encoding: chunked\r\n"])
    func aBodyOverTheLimitIsRefusedAndTheConnectionLivesOn(framing: String) async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            let isChunked = framing.hasPrefix("T")
            let body = String(repeating: "x", count: (4 << 20) + 1)
            let framed = isChunked ? "400001\r\n\(body)\r\n0\r\n\r\n" : body
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\(framed)")
            let response = try await client.response()
            #expect(response.status == 413)
            #expect(response.text.contains(#""status":"ERROR""#))
            try await client.send(Echo.post)
            #expect(try await client.response().text == Echo.answerToPost)
        }
    }

    @Test func aBodyAtTheLimitIsTaken() async throws {
        try await withServer({ ServerResponse(status: 200, body: .bytes(Array("\($0.body.count)".utf8))) }) { server in
            let client = try RawConnection(port: server.port)
            let body = [UInt8](repeating: 0, count: HTTPServer.Limits().bodyBytes)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n")
            try await client.send(body)
            #expect(try await client.response().text == "\(body.count)")
        }
    }

    @Test func aBodyFarOverTheLimitIsRefusedBeforeItIsRead() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            #expect(try await client.response().status == 413)
            #expect(await client.readUntilEnd().end == .closed)
        }
    }

    @Test func aClientThatAsksFirstIsToldNotToSendTooMuch() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4194305\r\nExpect: 100-continue\r\n\r\n"
            )
            #expect(try await client.response().status == 413)
        }
    }

    @Test func bodiesOfAllRequestsTogetherAreBounded() async throws {
        try await withServer(limits: altered(HTTPServer.Limits()) { $0.totalBodyBytes = 1000 }, Echo.answer) { server in
            let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n"
            let holder = try RawConnection(port: server.port)
            try await holder.send(head + String(repeating: "x", count: 899))
            let other = try RawConnection(port: server.port)
            // Until the server has read what the first one sent, there is room for the second.
            while true {
                try await other.send(head + String(repeating: "y", count: 900))
                let status = try await other.response().status
                if status == 503 { break }
                #expect(status == 200)
            }
            try await holder.send("x")
            #expect(try await holder.response().status == 200)
            // The room of the first one is free again: at the latest when its response is sent whole.
            while true {
                try await other.send(head + String(repeating: "y", count: 900))
                if try await other.response().status == 200 { break }
            }
        }
    }

    enum Flood: CaseIterable {
        case manyHeaders, longHeader, longTarget

        var text: String {
            switch self {
            case .manyHeaders:
                "GET / HTTP/1.1\r\nHost: x\r\n" + String(repeating: "X-Flood: 0123456789\r\n", count: 20_000) + "\r\n"
            case .longHeader:
                "GET / HTTP/1.1\r\nHost: x\r\nX-Long: " + String(repeating: "x", count: 400_000) + "\r\n\r\n"
            case .longTarget:
                "GET /" + String(repeating: "x", count: 400_000) + " HTTP/1.1\r\nHost: x\r\n\r\n"
            }
        }
    }

    @Test(arguments: Flood.allCases)
    func floodsOfHeadersAreCutOff(flood: Flood) async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try? await client.send(flood.text)  // the server may have closed before all is sent
            let answer = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"))
            try await server.expectService()
        }
    }

    @Test(arguments: [
        "\r\n\r\n\r\n\r\n", "GARBAGE\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n", "\u{0}\u{1}\u{2}\u{3}\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
        "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFFF\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n", "GET /%zz%00 HTTP/1.1\r\nHost: x\r\n\r\n",
    ])
    func garbageDisturbsNobodyElse(garbage: String) async throws {
        try await withServer(limits: .impatient, Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try? await client.send(garbage)
            client.finishSending()
            _ = await client.readUntilEnd()
            try await server.expectService()
        }
    }

    @Test func randomBytesDisturbNobodyElse() async throws {
        try await withServer(limits: .impatient, Echo.answer) { server in
            var random = SeededRandomness(seed: 1)
            for _ in 0..<200 {
                let client = try RawConnection(port: server.port)
                try? await client.send(random.bytes(Int.random(in: 1...300, using: &random)))
                client.finishSending()
                _ = await client.readUntilEnd()
            }
            try await server.expectService()
            #expect(await server.becomesEmpty())
        }
    }

    @Test(arguments: [
        "", "GET / HTT", "POST / HTTP/1.1\r\nHost: x\r\nX-",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n",
    ])
    func aClientThatTricklesIsCutOff(beginning: String) async throws {
        try await withServer(limits: altered(.init()) { $0.patience = .seconds(1) }, Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send(beginning)
            // Its every byte is within the library's own timeout.
            _ = await client.trickleUntilEnd()
            #expect(await server.becomesEmpty())
        }
    }

    /// The library would never respond to these, and the server's patience, by this clock, never ends.
    @Test(arguments: [257, 480, 1000, 10_000])
    func tooManyQueryParametersAreRefusedAtOnce(count: Int) async throws {
        try await withServer(clock: ManualClock(), Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            let query = Array(repeating: "a", count: count).joined(separator: "&")
            try await client.send("GET /?\(query) HTTP/1.1\r\nHost: x\r\n\r\n")
            let read = await client.readUntilEnd()
            #expect(String(decoding: read.bytes, as: UTF8.self).hasPrefix("HTTP/1.1 414 "))
            #expect(await server.becomesEmpty())
        }
    }

    @Test func asManyQueryParametersAsAreAllowedAreServed() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            let query = Array(repeating: "a", count: 256).joined(separator: "&")
            try await client.send("GET /?\(query) HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.response().status == 200)
        }
    }

    /// Patience is measured by the clock that the server was given, so an hour of it takes no time here.
    @Test func aClientThatTakesTooLongIsCutOffByTheServersClock() async throws {
        let clock = ManualClock()
        var limits = HTTPServer.Limits()
        limits.patience = .seconds(3600)
        try await withServer(limits: limits, clock: clock, Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTT")
            while server.connectionCount == 0 { await Task.yield() }
            await clock.waitForSleepers(1)
            clock.advance(by: .seconds(3599))
            await clock.waitForSleepers(1)  // it has looked
            #expect(server.connectionCount == 1)
            clock.advance(by: .seconds(1))
            #expect(await client.readUntilEnd().bytes.isEmpty)
            #expect(await server.becomesEmpty())
        }
    }

    @Test func aClientThatReadsNothingIsCutOff() async throws {
        let body = [UInt8](repeating: 0, count: 32 << 20)  // more than the sockets between them hold
        let response = ServerResponse(status: 200, body: .bytes(body))
        try await withServer(limits: .impatient, { _ in response }) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            while server.connectionCount == 0 { await Task.yield() }
            #expect(await server.becomesEmpty())
            withExtendedLifetime(client) {}
        }
    }

    @Test func silentClientsDoNotShutOthersOut() async throws {
        var limits = HTTPServer.Limits.impatient
        limits.connections = 10
        try await withServer(limits: limits, Echo.answer) { server in
            // All that there is room for, and more that wait.
            let silent = try (0..<30).map { _ in try RawConnection(port: server.port) }
            try await server.expectService()
            #expect(server.connectionCount <= 10)
            withExtendedLifetime(silent) {}
        }
    }

    @Test func aSlowAnswerIsNotTheClientsFault() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        try await withServer(
            limits: .impatient,
            { _ in
                for await _ in gate {}
                return ServerResponse(status: 200, body: .bytes([]))
            }
        ) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            // Whoever came later and said nothing has been cut off: so long the other one waits, and goes on waiting.
            let silent = try RawConnection(port: server.port)
            #expect(await silent.readUntilEnd().bytes.isEmpty)
            open.finish()
            #expect(try await client.response().status == 200)
        }
    }
}
