import Foundation
import HTTPClientTransport
import TestSupport
import Testing

/// Many requests on one connection to nginx, whose upstream answers or holds each as a test wants.
@Suite(.timeLimit(.minutes(4)), .enabled(if: NginxServer.isInstalled, "nginx is not installed"))
struct HTTP2Tests {
    /// Answers what comes on `/`, and holds every other request until the client gives it up.
    private static func upstream() throws -> ScriptedServer {
        try ScriptedServer { connection in
            guard let request = connection.readRequest() else { return }
            if request.requestLine.hasPrefix("POST / ") {
                return connection.answer(String(decoding: request.body, as: UTF8.self))
            }
            connection.reach(request.requestLine)
            connection.waitForClose()
        }
    }

    private func error(of transport: CurlTransport, _ request: HTTPRequest) async -> HTTPTransportError.Code? {
        do {
            _ = try await transport.send(request)
            return nil
        } catch {
            return (error as? HTTPTransportError)?.code
        }
    }

    /// None is answered before all have arrived, so they are under way at once.
    @Test func asManyStreamsAsRequestsAreAllowedShareOneConnection() async throws {
        let count = 256
        let arrived = Shared(0)
        let upstream = try ScriptedServer { connection in
            guard let request = connection.readRequest() else { return }
            arrived.update { $0 += 1 }
            while arrived.value < count { usleep(1_000) }
            connection.answer(String(decoding: request.body, as: UTF8.self))
        }
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport()
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
        await until { server.exchanges.count == count }
        #expect(Set(server.exchanges.map(\.version)) == ["HTTP/2.0"])
        #expect(Set(server.exchanges.map(\.connection)).count == 1)
    }

    /// More than the server takes at once wait for their turn, or take another connection.
    @Test func aServerThatTakesFewStreamsAtOnceGetsThemAll() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream, streams: 2)
        let transport = try server.transport()
        try await withThrowingTaskGroup { group in
            for number in 0..<100 {
                group.addTask { try await transport.send(HTTPRequest(url: server.url, body: Array("\(number)".utf8))) }
            }
            for try await response in group { #expect(response.status == 200) }
        }
        await transport.shutdown()
        #expect(Set(upstream.requests.map(\.body)).count == 100)
        #expect(upstream.requests.count == 100)
    }

    @Test func whatIsTooLargeEndsAlone() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport {
            $0.maximumResponseSize = 1 << 20 - 1
            $0.maximumHeaderSize = 2_000
        }
        let held = Task { try await transport.send(HTTPRequest(url: server.url + "hold")) }
        await upstream.wait { events in events.contains { $0.isReached("POST /hold HTTP/1.0") } }
        #expect(await self.error(of: transport, HTTPRequest(.get, url: server.url + "large")) == .responseTooLarge)
        #expect(await self.error(of: transport, HTTPRequest(.get, url: server.url + "wide")) == .responseTooLarge)
        #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).status == 200)
        held.cancel()
        await #expect(throws: CancellationError.self) { try await held.value }
        let other = try server.transport()
        #expect(try await other.send(HTTPRequest(.get, url: server.url + "large")).body.count == 1 << 20)
        await other.shutdown()
        await transport.shutdown()
    }

    /// Whichever comes first, the response or the cancellation: each call ends exactly once, and the connection lives.
    @Test func everyCallEndsWhicheverComesFirst() async throws {
        let upstream = try Self.upstream()
        defer { upstream.stop() }
        let server = try await NginxServer(upstream: upstream)
        let transport = try server.transport()
        let ended = await withTaskGroup { group in
            for number in 0..<300 {
                group.addTask {
                    let task = Task { try await transport.send(HTTPRequest(url: server.url, body: [1])) }
                    for _ in 0..<number % 40 { await Task.yield() }
                    task.cancel()
                    switch await task.result {
                    case .success(let response): return response.status == 200
                    case .failure(let error): return error is CancellationError
                    }
                }
            }
            return await group.reduce(into: 0) { count, isExpected in count += isExpected ? 1 : 0 }
        }
        #expect(ended == 300)
        #expect(try await transport.send(HTTPRequest(url: server.url, body: [1])).status == 200)
        await transport.shutdown()
    }

    // MARK: Certificates that change while it runs

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
        #expect(await self.error(of: late, HTTPRequest(url: server.url)) == .tlsFailed)
        let pinned = try server.transport { $0.tls.pinnedPublicKeys = [first.pin] }
        #expect(await self.error(of: pinned, HTTPRequest(url: server.url)) == .tlsFailed)
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
