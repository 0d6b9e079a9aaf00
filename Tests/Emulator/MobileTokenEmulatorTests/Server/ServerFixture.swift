import EmulatorHTTP
import EmulatorMessages
import PowerAuthCrypto
import TestSupport
import Testing

/// A request handler that shows what it got, and a request with what is answered to it.
enum Echo {
    static func answer(_ request: ReceivedRequest) async -> ServerResponse {
        let text = "\(request.method) \(request.path)?\(request.rawQuery) \(request.header("x-test") ?? "-") "
        return ServerResponse(status: 200, body: .bytes(Array(text.utf8) + request.body))
    }

    static let post = "POST /a/b?c=d HTTP/1.1\r\nHost: x\r\nX-Test: yes\r\nContent-Length: 5\r\n\r\nhello"
    static let answerToPost = "POST /a/b?c=d yes hello"
}

/// Runs a server while `body` runs.
@discardableResult
func withServer<Result>(
    limits: HTTPServer.Limits = HTTPServer.Limits(),
    certificate: SelfSignedCertificate? = nil,
    clock: any Clock<Duration> = ContinuousClock(),
    _ respond: @escaping @Sendable (ReceivedRequest) async -> ServerResponse,
    _ body: (HTTPServer) async throws -> Result
) async throws -> Result {
    let (host, port) = ("127.0.0.1", UInt16(0))
    let server = try HTTPServer(host: host, port: port, certificate: certificate, limits: limits, clock: clock)
    let service = Task { await server.run(respond) }
    do {
        let result = try await body(server)
        await service.stop()
        #expect(server.connectionCount == 0)
        return result
    } catch {
        await service.stop()
        throw error
    }
}

extension HTTPServer.Limits {
    /// With a client that has stopped in the middle of a request, the server's patience decides how long a test takes.
    static var impatient: Self { altered(Self()) { $0.patience = .seconds(1) } }
}

extension HTTPServer {
    func expectService() async throws {
        let client = try RawConnection(port: self.port)
        try await client.send(Echo.post)
        #expect(try await client.response().text == Echo.answerToPost)
    }

    /// Returns when nobody is connected any more.
    func becomesEmpty() async -> Bool {
        while !Task.isCancelled, self.connectionCount > 0 { await Task.yield() }
        return true
    }
}
