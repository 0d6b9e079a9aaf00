import EmulatorHTTP
import EmulatorMessages
import Testing

/// The ways in which responses reach the client.
@Suite(.timeLimit(.minutes(5))) struct ServerResponseTests {
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
}
