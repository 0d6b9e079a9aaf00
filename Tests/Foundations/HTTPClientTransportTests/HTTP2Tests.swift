import Foundation
import HTTPClientTransport
import TestSupport
import Testing

/// Many requests on one connection to nginx, whose upstream answers or holds each as a test wants.
@Suite(.timeLimit(.minutes(5)), .enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct HTTP2Tests {
    /// Answers what comes on `/`, and on other paths does what they are called after. What comes on `/late` gets its response once
    /// the gate is open, and what nothing is known of never does.
    private static func upstream(_ gate: ThreadGate = ThreadGate(opensAfter: 0)) throws -> ScriptedServer {
        try ScriptedServer { connection in
            guard let request = connection.readRequest() else { return }
            let path = request.requestLine.split(separator: " ").dropFirst().first.map(String.init) ?? ""
            connection.reach(path)
            switch path {
            case "/": connection.answer(String(decoding: request.body, as: UTF8.self))
            case "/late":
                gate.wait()
                connection.answer("late")
            case "/stalled":
                connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")
                connection.waitForClose()
            case "/endless":
                connection.write("HTTP/1.1 200 OK\r\n\r\n")
                while connection.write([UInt8](repeating: 0x61, count: 1 << 14)) {}
            case "/many":
                connection.answer(
                    headers: (0..<60).map { "X-\($0): \(String(repeating: "v", count: 40))\r\n" }.joined()
                )
            default: connection.waitForClose()
            }
        }
    }

    /// Runs `body` while another request waits for its response, which comes afterwards, undisturbed, and on the same connection
    /// as everything that `body` asks for.
    private func besideAnotherStream(
        _ change: (inout CurlTransport.Configuration) -> Void = { _ in },
        _ body: (CurlTransport, NginxServer, ScriptedServer) async throws -> Void
    ) async throws {
        let gate = ThreadGate()
        let upstream = try Self.upstream(gate)
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport {
            $0.timeout = .seconds(200)
            change(&$0)
        }
        defer {
            gate.arrive()
            upstream.stop()
        }
        let late = Task { try await transport.send(HTTPRequest(url: server.url + "late")) }
        await upstream.wait { events in events.contains { $0.isReached("/late") } }
        try await body(transport, server, upstream)
        #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).body == [1])
        gate.arrive()
        #expect(try await late.value.body == Array("late".utf8))
        await transport.shutdown()
        await until { server.exchanges.contains { $0.path == "/late" } }
        #expect(Set(server.exchanges.map(\.version)) == ["HTTP/2.0"])
        #expect(Set(server.exchanges.map(\.connection)).count == 1)
    }

    private func error(of transport: CurlTransport, _ request: HTTPRequest) async -> HTTPTransportError? {
        do {
            _ = try await transport.send(request)
            return nil
        } catch {
            return error as? HTTPTransportError
        }
    }

    /// None is answered before all have arrived, so they are under way at once.
    ///
    /// The connection is there before: until the server has said how many it takes, libcurl counts on 100, and opens others for
    /// the rest.
    @Test func asManyStreamsAsRequestsAreAllowedShareOneConnection() async throws {
        let count = 256
        let gate = ThreadGate(opensAfter: count)
        let upstream = try ScriptedServer { connection in
            guard let request = connection.readRequest() else { return }
            if !request.body.isEmpty {
                gate.arrive()
                gate.wait()
            }
            connection.answer(String(decoding: request.body, as: UTF8.self))
        }
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport()
        _ = try await transport.send(HTTPRequest(url: server.url, body: []))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<count {
                group.addTask {
                    let body = Array("\(number)".utf8)
                    let response = try await transport.send(HTTPRequest(url: server.url, body: body))
                    #expect(response.status == 200 && response.body == body)
                }
            }
            try await group.waitForAll()
        }
        await transport.shutdown()
        await until { server.exchanges.count == count + 1 }
        #expect(Set(server.exchanges.map(\.version)) == ["HTTP/2.0"])
        #expect(Set(server.exchanges.map(\.connection)).count == 1)
    }

    /// More than the server takes at once wait for their turn, or take another connection. What it refused is not sent again
    /// by itself: libcurl does not tell that from a connection that broke.
    @Test func aServerThatTakesFewStreamsAtOnceGetsThemAll() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream, streams: 2)
        let transport = try server.transport()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask {
                    try await Self.sendUntilTaken(
                        HTTPRequest(url: server.url, body: Array("\(number)".utf8)),
                        by: transport
                    )
                }
            }
            for try await response in group { #expect(response.status == 200) }
        }
        await transport.shutdown()
        #expect(Set(upstream.requests.map(\.body)).count == 100)
        #expect(upstream.requests.count == 100)
    }

    /// Sends a request again that was on its way before the server said how few it takes at once.
    private static func sendUntilTaken(_ request: HTTPRequest, by transport: CurlTransport) async throws -> HTTPResponse
    {
        while true {
            do { return try await transport.send(request) } catch let error as HTTPTransportError {
                guard error.code == .connectionLost else { throw error }
            }
        }
    }

    // MARK: Of many, one

    /// A time that is too short even to get there is doubled until it is long enough for that.
    @Test func aResponseThatNeverComesEndsAlone() async throws {
        try await self.besideAnotherStream { transport, server, upstream in
            var timeout = Duration.milliseconds(50)
            while !upstream.events.contains(where: { $0.isReached("/hold") }) {
                let error = await self.error(of: transport, HTTPRequest(url: server.url + "hold", timeout: timeout))
                #expect(error?.code == .timeout && error?.httpStatus == nil)
                timeout *= 2
            }
        }
    }

    @Test func aBodyThatStallsEndsAlone() async throws {
        try await self.besideAnotherStream { transport, server, _ in
            var timeout = Duration.milliseconds(50)
            var error: HTTPTransportError?
            repeat {
                error = await self.error(of: transport, HTTPRequest(url: server.url + "stalled", timeout: timeout))
                #expect(error?.code == .timeout)
                timeout *= 2
            } while error?.httpStatus == nil && error?.code == .timeout
            #expect(error?.httpStatus == 200)
        }
    }

    /// The server has not answered when the call ends. It hears of it with what comes next on the connection: libcurl 7.88 keeps
    /// the frame that says so until then.
    @Test(arguments: ["/hold", "/stalled"]) func cancellingEndsOneStreamAlone(path: String) async throws {
        try await self.besideAnotherStream { transport, server, upstream in
            let task = Task { try await transport.send(HTTPRequest(url: server.url + path.dropFirst())) }
            await upstream.wait { events in events.contains { $0.isReached(path) } }
            await #expect(throws: CancellationError.self) { try await task.stop() }
            let next = try await transport.send(HTTPRequest(url: server.url, body: [2]))
            #expect(next.body == [2])
            await until { server.exchanges.contains { $0.path == path } }
        }
    }

    @Test(arguments: ["large", "endless", "wide", "many"]) func whatIsTooLargeEndsAlone(path: String) async throws {
        try await self.besideAnotherStream {
            $0.maximumResponseSize = 1 << 20 - 1
            $0.maximumHeaderSize = 2_000
        } _: { transport, server, _ in
            let error = await self.error(of: transport, HTTPRequest(.get, url: server.url + path))
            #expect(error?.code == .responseTooLarge)
        }
    }

    @Test func whatIsWithinTheLimitsIsTakenWhole() async throws {
        try await self.besideAnotherStream {
            $0.maximumResponseSize = 1 << 20
            $0.maximumHeaderSize = 4_000
        } _: { transport, server, _ in
            let large = try await transport.send(HTTPRequest(.get, url: server.url + "large"))
            #expect(large.body.count == 1 << 20)
            let wide = try await transport.send(HTTPRequest(.get, url: server.url + "wide"))
            #expect(wide.headers["X-Wide"]?.count == 3_000)
        }
    }

    /// Whichever comes first, the response or the cancellation: each call ends exactly once, and the connection lives.
    @Test func everyCallEndsWhicheverComesFirst() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport()
        try await expectThatEveryCallEnds(of: transport, at: server.url, count: 300)
        await transport.shutdown()
    }

    // MARK: Certificates that change while it runs

    /// The transport that was refused an expired certificate takes the next one, without a restart.
    @Test func anExpiredCertificateIsRefusedUntilItIsRenewed() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let authority = try await Certificate()
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport { $0.tls.validation = .certificateAuthority(file: authority.file) }
        try server.replaceCertificate(with: await Certificate(issuedBy: authority, days: -1))
        for _ in 0..<2 { #expect(await self.error(of: transport, HTTPRequest(url: server.url))?.code == .tlsFailed) }
        #expect(upstream.requests.isEmpty)
        try server.replaceCertificate(with: await Certificate(issuedBy: authority))
        for _ in 0..<2 { #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).status == 200) }
        await transport.shutdown()
    }

    @Test func aRenewedCertificateIsAcceptedByThoseWhoTrustIt() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let (first, second) = (server.certificate.value, try await Certificate())
        let both = try TemporaryFolder()
        let bundle = [first, second].compactMap { try? String(contentsOfFile: $0.file, encoding: .utf8) }.joined()
        try bundle.write(toFile: both.file("bundle.pem"), atomically: true, encoding: .utf8)
        let trusting = try server.transport { $0.tls.validation = .certificateAuthority(file: both.file("bundle.pem")) }
        let pinning = try server.transport { $0.tls.pinnedPublicKeys = [first.pin] }
        for transport in [trusting, pinning] {
            #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).status == 200)
        }
        try server.replaceCertificate(with: second)
        #expect(try await trusting.send(HTTPRequest(url: server.url, body: [1])).status == 200)
        // Those who trust the first alone are told when they connect anew.
        let late = try server.transport {
            $0.tls.validation = .certificateAuthority(file: first.file)
        }
        #expect(await self.error(of: late, HTTPRequest(url: server.url))?.code == .tlsFailed)
        let pinned = try server.transport { $0.tls.pinnedPublicKeys = [first.pin] }
        #expect(await self.error(of: pinned, HTTPRequest(url: server.url))?.code == .tlsFailed)
        let renewed = try server.transport { $0.tls.pinnedPublicKeys = [second.pin] }
        #expect(try await renewed.send(HTTPRequest(url: server.url, body: [1])).status == 200)
        for transport in [trusting, pinning, late, pinned, renewed] { await transport.shutdown() }
    }
}

extension ScriptedServer.Event {
    fileprivate func isReached(_ point: String) -> Bool {
        guard case .reached(connection: _, point) = self else { return false }
        return true
    }
}
