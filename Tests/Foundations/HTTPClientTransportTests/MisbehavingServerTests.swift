import Foundation
import HTTPClientTransport
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct MisbehavingServerTests {
    /// The code of the error of one request to a server that does `script` to every connection until that error, and
    /// answers well from then on; proves that the transport is usable afterwards.
    private func codeOfFailure(
        configuration: CurlTransport.Configuration = CurlTransport.Configuration(),
        timeout: Duration? = nil,
        script: @escaping @Sendable (ScriptedConnection) -> Void
    ) async throws -> HTTPTransportError.Code? {
        let isHealthy = Atomic(false)
        let server = try ScriptedServer { isHealthy.load(ordering: .acquiring) ? $0.answerAll() : script($0) }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: configuration)
        var code: HTTPTransportError.Code?
        do {
            let response = try await transport.send(HTTPRequest(url: server.url, body: [1], timeout: timeout))
            Issue.record("answered with \(response.status)")
        } catch let error as HTTPTransportError {
            code = error.code
            #expect(!error.description.contains("127.0.0.1") && !error.description.contains("pa/v3"))
        }
        isHealthy.store(true, ordering: .releasing)
        #expect(try await transport.send(HTTPRequest(url: server.url)).status == 200)
        await transport.shutdown()
        return code
    }

    private static let answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"

    @Test(arguments: 0..<answer.utf8.count)
    func anAnswerCutAnywhereIsAnError(at count: Int) async throws {
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write(Array(Self.answer.utf8.prefix(count)))
        }
        // The first bytes may look like the body of an answer without a head, which nobody asked for.
        #expect(code == .connectionLost || (count < 5 && code == .invalidResponse))
    }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01", "HTTP/1.1 200 OK\r\n\r\nab",
    ])
    func aConnectionBrokenAnywhereIsAnError(after text: String) async throws {
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write(text)
            connection.reset()
        }
        #expect(code == .connectionLost)
    }

    /// Whatever a proxy does in place of a tunnel, nothing of the request has left.
    @Test(arguments: [
        (
            "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n",
            "the proxy answered 407"
        ),
        ("HTTP/1.1 403 Forbidden\r\nContent-Length: 4\r\n\r\nno!!", "the proxy answered 403"),
        ("HTTP/1.1 302 Found\r\nLocation: http://login.test/\r\nContent-Length: 0\r\n\r\n", "the proxy answered 302"),
        ("HTTP/1.1 503 Busy\r\nConnection: close\r\n\r\n", "the proxy answered 503"),
        ("HTTP/1.1 407", ""), ("<html>", ""), ("", ""),
    ])
    func aRefusedTunnelHasSentNothing(response: String, detail: String) async throws {
        let proxy = try ScriptedServer { connection in
            connection.readRequest()
            connection.write(response)
            if response.isEmpty { connection.reset() }
        }
        defer { proxy.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .url("http://127.0.0.1:\(proxy.port)")
        let transport = try TestedTransport(configuration: configuration)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(url: "https://server.test/pa/v3", body: [1]))
        }
        // AsyncHTTPClient has the same error for this connection as for any other.
        #expect(error?.code == .connectionFailed || (!TestedTransport.isCurl && error?.code == .connectionLost))
        #expect(detail.isEmpty || !TestedTransport.isCurl || error?.detail == detail)
        #expect(error?.httpStatus == nil)
        #expect(proxy.requests.map { $0.requestLine.prefix(8) } == ["CONNECT "])
        await transport.shutdown()
    }

    @Test func aConnectionClosedBeforeTheRequestIsAnError() async throws {
        let code = try await self.codeOfFailure { $0.reset() }
        // The reset may come before this side has seen that it was connected.
        #expect(code == .connectionLost || code == .connectionFailed)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2\r\n", "<html>", "\r\n\r\n\r\n", "HTTP/9.9 200 OK\r\n\r\n", "HTTP/1.1 OK\r\n\r\n",
        "\0\0\0\0",
    ])
    func garbageIsNotAnAnswer(text: String) async throws {
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write(text)
        }
        #expect(code == .invalidResponse || code == .connectionLost)
    }

    @Test func badChunksAreNotABody() async throws {
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n")
            connection.waitForClose()
        }
        #expect(code == .connectionLost || code == .invalidResponse)
    }

    @Test func aChunkedBodyWithoutItsEndIsAnError() async throws {
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n")
        }
        #expect(code == .connectionLost)
    }

    @Test(arguments: ["1000000", "99999999999", "99999999999999999999999999"])
    func aLengthPastTheLimitIsRefusedUnread(length: String) async throws {
        var configuration = CurlTransport.Configuration()
        configuration.maximumResponseSize = 999_999
        let code = try await self.codeOfFailure(configuration: configuration) { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nfirst")
            connection.waitForClose()  // it hangs unless the client refuses on the head alone
        }
        #expect(code == .responseTooLarge || (!TestedTransport.isCurl && length.count > 19 && code == .invalidResponse))
    }

    @Test(arguments: ["Transfer-Encoding: chunked\r\n", ""])
    func aBodyWithoutEndStopsAtTheLimit(header: String) async throws {
        var configuration = CurlTransport.Configuration()
        configuration.maximumResponseSize = 100_000
        let code = try await self.codeOfFailure(configuration: configuration) { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\n\(header)\r\n")
            let part =
                header.isEmpty
                ? String(repeating: "x", count: 1000) : "3e8\r\n\(String(repeating: "x", count: 1000))\r\n"
            while connection.write(part) {}
        }
        #expect(code == .responseTooLarge)
    }

    @Test func exactlyTheLimitIsAccepted() async throws {
        let server = try ScriptedServer { $0.answerAll(String(repeating: "x", count: 1000)) }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumResponseSize = 1000 })
        #expect(try await transport.send(HTTPRequest(url: server.url)).body.count == 1000)
        await transport.shutdown()
    }

    @Test func aSmallBodyThatUnpacksToALargeOneIsRefused() async throws {
        let bomb = try await run("sh", ["-c", "head -c 20000000 /dev/zero | gzip -c"])
        #expect(bomb.count < 100_000)
        let code = try await self.codeOfFailure { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n\r\n")
            connection.write(bomb)
            connection.waitForClose()
        }
        #expect(code == .responseTooLarge)
    }

    @Test func aCompressedBodyArrivesUnpacked() async throws {
        let packed = try await run("sh", ["-c", "printf 'hello, hello, hello' | gzip -c"])
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n")
            connection.write(packed)
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        #expect(try await transport.send(HTTPRequest(url: server.url)).body == Array("hello, hello, hello".utf8))
        await transport.shutdown()
        #expect(server.requests.first?.header("Accept-Encoding")?.contains("gzip") == true)
    }

    @Test(arguments: ["X-Flood: \(String(repeating: "y", count: 100))\r\n", "HTTP/1.1 100 Continue\r\n\r\n"])
    func headersWithoutEndStopAtTheLimit(line: String) async throws {
        // AsyncHTTPClient counts no interim answers.
        let isCounted = TestedTransport.isCurl || !line.hasPrefix("HTTP")
        let code = try await self.codeOfFailure(timeout: isCounted ? nil : .seconds(1)) { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 100 Continue\r\n")
            if line.hasPrefix("HTTP") { connection.write("\r\n") }
            while connection.write(line) {}
        }
        #expect(code == (isCounted ? .responseTooLarge : .timeout))
    }

    @Test func aServerThatNeverAnswersRunsIntoTheTimeout() async throws {
        let code = try await self.codeOfFailure(timeout: .milliseconds(50)) { connection in
            connection.readRequest()
            connection.waitForClose()
        }
        #expect(code == .timeout)
    }

    @Test func aSlowDripRunsIntoTheTimeout() async throws {
        let code = try await self.codeOfFailure(timeout: .milliseconds(100)) { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0")
            connection.waitForClose()
        }
        #expect(code == .timeout)
    }

    @Test func aConnectionThatIsNeverAcceptedRunsIntoTheConnectTimeout() async throws {
        let blocked = try BlockedListener()
        let transport = try TestedTransport(configuration: altered(.init()) { $0.connectTimeout = .milliseconds(50) })
        // Nothing was sent, so that nobody has to find out what became of it.
        await #expect { try await transport.send(HTTPRequest(url: blocked.url)) } throws: {
            ($0 as? HTTPTransportError)?.code == .connectionFailed
        }
        await transport.shutdown()
    }

    @Test func nobodyListeningAndUnknownNamesAreFailedConnections() async throws {
        let (descriptor, port) = try ScriptedServer.listen(backlog: nil)
        defer { close(descriptor) }
        let transport = try TestedTransport()
        for url in ["http://127.0.0.1:\(port)/", "http://no-such-host.invalid/"] {
            await #expect { try await transport.send(HTTPRequest(url: url)) } throws: {
                ($0 as? HTTPTransportError)?.code == .connectionFailed
            }
        }
        await transport.shutdown()
    }

    @Test func aHostThatHangsDoesNotHoldUpAnother() async throws {
        let hanging = try ScriptedServer { $0.waitForClose() }
        let healthy = try ScriptedServer { $0.answerAll() }
        defer {
            hanging.stop()
            healthy.stop()
        }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 2 })
        await withTaskGroup { group in
            for _ in 0..<10 { group.addTask { _ = try? await transport.send(HTTPRequest(url: hanging.url)) } }
            await hanging.wait { $0.count == 2 }
            await withTaskGroup { healthyGroup in
                for _ in 0..<20 {
                    healthyGroup.addTask {
                        let response = try? await transport.send(HTTPRequest(url: healthy.url))
                        #expect(response?.status == 200)
                    }
                }
            }
            #expect(hanging.acceptedCount == 2)
            group.cancelAll()
        }
        await transport.shutdown()
    }

    @Test func waitingForATurnCountsTowardsTheTimeout() async throws {
        let server = try ScriptedServer { $0.waitForClose() }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 1 })
        let first = Task { try await transport.send(HTTPRequest(url: server.url)) }
        await server.waitFor(.accepted(connection: 0))
        await #expect { try await transport.send(HTTPRequest(url: server.url, timeout: .milliseconds(50))) } throws: {
            ($0 as? HTTPTransportError)?.code == (TestedTransport.isCurl ? .connectionFailed : .timeout)
        }
        await transport.shutdown()
        let error = await #expect(throws: HTTPTransportError.self) { try await first.value }
        // The server accepted the connection; whether anything was sent by then nobody knows.
        #expect(error?.code == .shutdown || error?.code == .connectionLost)
        #expect(server.acceptedCount == 1)
    }
}
