import Foundation
import Glibc
import PowerAuthCrypto
import Synchronization
import Testing

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(4))) struct HTTPServerTests {
    /// Answers with what it got.
    private static func echo(_ request: ReceivedRequest) async -> ServerResponse {
        let text = "\(request.method) \(request.path)?\(request.rawQuery) \(request.header("x-test") ?? "-") "
        return ServerResponse(status: 200, body: .bytes(Array(text.utf8) + request.body))
    }

    private static let post = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\nContent-Length: 5\r\n\r\nhello"
    private static let postEcho = "POST /a/b?c=d yes hello"

    @Test func aRequestMayBeSplitAtEveryByte() async throws {
        try await withServer(Self.echo) { server in
            let bytes = Array(Self.post.utf8)
            for split in 1..<bytes.count {
                let client = try RawConnection(port: server.port)
                try await client.send(Array(bytes[..<split]))
                try await client.send(Array(bytes[split...]))
                #expect(try await client.response().text == Self.postEcho, "split at \(split)")
            }
            let client = try RawConnection(port: server.port)
            for byte in bytes { try await client.send([byte]) }
            #expect(try await client.response().text == Self.postEcho)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            let requests = (1...20).map { "POST /\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok" }
            try await client.send(requests.joined())
            for number in 1...20 { #expect(try await client.response().text == "POST /\(number)? - ok") }
        }
    }

    @Test func chunkedBodiesArePutTogether() async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            let head = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
            let message = head + "3\r\nhel\r\n1;extension=1\r\nl\r\n1\r\no\r\n0\r\nTrailer: yes\r\n\r\n"
            for byte in message.utf8 { try await client.send([byte]) }
            #expect(try await client.response().text == "POST /? - hello")
            try await client.send(message + message)
            #expect(try await client.response().text == "POST /? - hello")
            #expect(try await client.response().text == "POST /? - hello")
        }
    }

    @Test func aClientThatAsksFirstIsToldToGoOn() async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().status == 100)
            try await client.send("ok")
            #expect(try await client.response().text == "POST /? - ok")
        }
    }

    @Test(arguments: ["Content-Length: 1048577\r\n", "Transfer-Encoding: chunked\r\n"])
    func aBodyOverTheLimitIsRefusedAndTheConnectionLivesOn(framing: String) async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            let isChunked = framing.hasPrefix("T")
            let body = String(repeating: "x", count: (1 << 20) + 1)
            let framed = isChunked ? "100001\r\n\(body)\r\n0\r\n\r\n" : body
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\(framed)")
            let response = try await client.response()
            #expect(response.status == 413)
            #expect(response.text.contains(#""status":"ERROR""#))
            try await client.send(Self.post)
            #expect(try await client.response().text == Self.postEcho)
        }
    }

    @Test func aBodyAtTheLimitIsTaken() async throws {
        try await withServer({ ServerResponse(status: 200, body: .bytes(Array("\($0.body.count)".utf8))) }) { server in
            let client = try RawConnection(port: server.port)
            let body = [UInt8](repeating: 0, count: 1 << 20)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.count)\r\n\r\n")
            try await client.send(body)
            #expect(try await client.response().text == "1048576")
        }
    }

    @Test func aBodyFarOverTheLimitIsRefusedBeforeItIsRead() async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
            #expect(try await client.response().status == 413)
            #expect(await client.readUntilEnd().end == .closed)
        }
    }

    @Test func aClientThatAsksFirstIsToldNotToSendTooMuch() async throws {
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try await client.send(
                "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1048577\r\nExpect: 100-continue\r\n\r\n"
            )
            #expect(try await client.response().status == 413)
        }
    }

    @Test func bodiesOfAllRequestsTogetherAreBounded() async throws {
        var limits = HTTPServer.Limits()
        limits.totalBodyBytes = 1000
        try await withServer(limits: limits, Self.echo) { server in
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
            // What the first one held is free again: at the latest when its response is sent whole.
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
        try await withServer(Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try? await client.send(flood.text)  // the server may have closed before all is sent
            let answer = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"))
            try await expectService(server)
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
        try await withServer(limits: .impatient, Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try? await client.send(garbage)
            client.finishSending()
            _ = await client.readUntilEnd()
            try await expectService(server)
        }
    }

    @Test func randomBytesDisturbNobodyElse() async throws {
        try await withServer(limits: .impatient, Self.echo) { server in
            var random = Randomness(seed: 1)
            for _ in 0..<200 {
                let client = try RawConnection(port: server.port)
                try? await client.send(random.bytes(Int.random(in: 1...300, using: &random)))
                client.finishSending()
                _ = await client.readUntilEnd()
            }
            try await expectService(server)
            #expect(await server.becomesEmpty())
        }
    }

    @Test func aThousandConnectionsAreServedAtOnce() async throws {
        raiseDescriptorLimit()
        let arrived = Mutex(0)
        let (gate, open) = AsyncStream.makeStream(of: Never.self)
        let everybody = Task { for await _ in gate {} }
        try await withServer({ _ in
            // Nobody is answered before all are there.
            if arrived.withLock({
                $0 += 1; return $0
            }) == 1000 {
                open.finish()
            }
            await everybody.value
            return ServerResponse(status: 204, body: .bytes([]))
        }) { server in
            var clients: [RawConnection] = []
            for _ in 0..<1000 {
                let client = try RawConnection(port: server.port)
                try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
                clients.append(client)
            }
            for client in clients { #expect(try await client.response().status == 204) }
        }
    }

    @Test(arguments: [
        "", "GET / HTT", "POST / HTTP/1.1\r\nHost: x\r\nX-",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 999999\r\n\r\n",
    ])
    func aClientThatTricklesIsCutOff(beginning: String) async throws {
        var limits = HTTPServer.Limits()
        limits.patience = .milliseconds(300)
        try await withServer(limits: limits, Self.echo) { server in
            let client = try RawConnection(port: server.port)
            try await client.send(beginning)
            // Its every byte is within the library's own timeout.
            _ = await client.trickleUntilEnd()
            #expect(await server.becomesEmpty())
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

    @Test func stoppingEndsEveryConnectionWhateverItsState() async throws {
        let server = try HTTPServer(host: "127.0.0.1", port: 0)
        let (arrivals, arrived) = AsyncStream.makeStream(of: String.self)
        let service = Task {
            await server.run { request in
                arrived.yield(request.path)
                switch request.path {
                case "/never":
                    try? await Task.sleep(for: .seconds(3600))
                    return ServerResponse(status: 200, body: .bytes([]))
                case "/stream":
                    return ServerResponse(
                        status: 200,
                        body: .produced(length: nil) { stream in
                            stream.write("beginning".utf8)
                            try? await Task.sleep(for: .seconds(3600))
                        }
                    )
                default:
                    return await Self.echo(request)
                }
            }
        }
        var clients: [RawConnection] = []
        for text in ["GET /never HTTP/1.1\r\nHost: x\r\n\r\n", "GET /stream HTTP/1.1\r\nHost: x\r\n\r\n", Self.post] {
            let client = try RawConnection(port: server.port)
            try await client.send(text)
            clients.append(client)
        }
        #expect(try await clients[1].responseHeadAndChunk().hasSuffix("beginning"))
        #expect(try await clients[2].response().text == Self.postEcho)
        clients.append(try RawConnection(port: server.port))  // says nothing
        clients.append(try RawConnection(port: server.port))
        try await clients[4].send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf")
        var iterator = arrivals.makeAsyncIterator()
        for _ in 0..<3 { _ = await iterator.next() }

        service.cancel()
        await service.value
        for client in clients { _ = await client.readUntilEnd() }  // returns only because each has ended
        #expect(throws: (any Error).self) { try RawConnection(port: server.port) }
        #expect(server.connectionCount == 0)
    }

    @Test func aTakenPortIsAnErrorThatSaysSo() throws {
        let first = try HTTPServer(host: "127.0.0.1", port: 0)
        #expect {
            try HTTPServer(host: "127.0.0.1", port: first.port)
        } throws: {
            ($0 as? EmulatorError)?.code == .addressInUse
        }
        for host in ["203.0.113.1", "nonsense", "::ffff:1:2:3:4:5:6:7"] {
            #expect {
                try HTTPServer(host: host, port: 0)
            } throws: {
                ($0 as? EmulatorError)?.code == .cannotListen
            }
        }
    }

    @Test func aPortIsFreeAgainWhenTheServerHasStopped() async throws {
        let port = try await withServer(Self.echo) { server in
            try await expectService(server)
            return server.port
        }
        for _ in 0..<5 {
            let server = try HTTPServer(host: "127.0.0.1", port: port)
            let service = Task { await server.run(Self.echo) }
            try await expectService(server)
            service.cancel()
            await service.value
        }
    }

    @Test func aResetReachesTheClientAsOne() async throws {
        try await withServer({ _ in ServerResponse(status: 200, body: .reset) }) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let (bytes, end) = await client.readUntilEnd()
            #expect(bytes.isEmpty)
            #expect(end == .reset)
        }
    }

    @Test func aBodyIsSentWhileItIsProduced() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let response = ServerResponse(
            status: 200,
            body: .produced(length: nil) { stream in
                stream.write("one".utf8)
                for await _ in gate { stream.write("two".utf8) }
            }
        )
        try await withServer({ _ in response }) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            #expect(try await client.responseHeadAndChunk().hasSuffix("one"))
            open.yield()
            #expect(try await client.nextChunk() == "two")
            open.finish()
            #expect(try await client.nextChunk() == nil)
        }
    }

    @Test func anAbortedBodyIsSeenAsCutOff() async throws {
        let response = ServerResponse(
            status: 200,
            body: .produced(length: 10) { stream in
                stream.write("half".utf8)
                stream.abort()
            }
        )
        try await withServer({ _ in response }) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            let text = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            #expect(text.contains("Content-Length: 10\r\n"))
            #expect(text.hasSuffix("\r\n\r\nhalf"))
        }
    }

    @Test func aReaderThatFallsBehindLosesItsConnection() async throws {
        let finished = AsyncStream.makeStream(of: Void.self)
        let response = ServerResponse(
            status: 200,
            body: .produced(length: nil) { stream in
                let block = [UInt8](repeating: 0, count: 64 * 1024)
                while !stream.isClosed {
                    stream.write(block)
                    await Task.yield()
                }
                finished.continuation.finish()
            }
        )
        try await withServer({ _ in response }) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            for await _ in finished.stream {}
            withExtendedLifetime(client) {}
        }
    }

    // MARK: Targets

    @Test(arguments: [
        ("/enrollment-server/pa/v3/status", "/pa/v3/status", ""), ("/enrollment-server", "/", ""),
        ("/enrollment-serverx", "/enrollment-serverx", ""), ("/a%2Fb?x=%20", "/a%2Fb", "x=%20"),
        ("http://host:1/a?b", "/a", "b"), ("HTTPS://host", "/", ""), ("/a?b?c", "/a", "b?c"), ("*", "*", ""),
    ])
    func targetsAreSplitAsSent(target: String, path: String, query: String) {
        let request = ReceivedRequest(method: "GET", target: target)
        #expect(request.path == path)
        #expect(request.rawQuery == query)
    }

    @Test func queriesAreFormDecoded() {
        let request = ReceivedRequest(method: "GET", target: "/?a=1+2&b=%C3%A9&c&d=%zz&=e&a=3=4&%61=%+5")
        let pairs = request.query.map { "\($0.name)>\($0.value)" }
        #expect(pairs == ["a>1 2", "b>é", "c>", "d>%zz", ">e", "a>3=4", "a>% 5"])
        #expect(request.queryValue("a") == "1 2")
    }

    // MARK: Service

    private func expectService(_ server: HTTPServer) async throws {
        let client = try RawConnection(port: server.port)
        try await client.send(Self.post)
        #expect(try await client.response().text == Self.postEcho)
    }
}

/// Runs a server while `body` runs.
@discardableResult
func withServer<Result>(
    limits: HTTPServer.Limits = HTTPServer.Limits(),
    certificate: SelfSignedCertificate? = nil,
    _ respond: @escaping @Sendable (ReceivedRequest) async -> ServerResponse,
    _ body: (HTTPServer) async throws -> Result
) async throws -> Result {
    let server = try HTTPServer(host: "127.0.0.1", port: 0, certificate: certificate, limits: limits)
    let service = Task { await server.run(respond) }
    do {
        let result = try await body(server)
        service.cancel()
        await service.value
        #expect(server.connectionCount == 0)
        return result
    } catch {
        service.cancel()
        await service.value
        throw error
    }
}

extension HTTPServer.Limits {
    /// With a client that has stopped in the middle of a request, the server's patience decides how long a test takes.
    static var impatient: Self {
        var limits = Self()
        limits.patience = .milliseconds(200)
        return limits
    }
}

extension HTTPServer {
    /// Returns when nobody is connected any more.
    func becomesEmpty() async -> Bool {
        while !Task.isCancelled, self.connectionCount > 0 { await Task.yield() }
        return true
    }
}
