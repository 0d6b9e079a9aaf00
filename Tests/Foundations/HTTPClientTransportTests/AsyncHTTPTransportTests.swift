#if AsyncHTTPClient
    import AsyncHTTPClient
    import HTTPClientTransport
    import Testing

    /// The settings that are the application's.
    @Suite(.timeLimit(.minutes(5))) struct AsyncHTTPTransportTests {
        private func send(
            requiresTLS: Bool = false,
            _ script: @escaping @Sendable (ScriptedConnection) -> Void
        ) async throws -> HTTPTransportError? {
            let server = try ScriptedServer(script: script)
            defer { server.stop() }
            let client = HTTPClient()  // follows redirects
            let transport = AsyncHTTPTransport(client: client, requiresTLS: requiresTLS)
            let error = await #expect(throws: HTTPTransportError.self) {
                try await transport.send(HTTPRequest(url: server.url, body: [1]))
            }
            try await client.shutdown()
            return error
        }

        /// The server may have carried the first request out.
        @Test func whatComesAfterARedirectIsNoResponse() async throws {
            let error = try await self.send { connection in
                // The redirected request may come on another connection.
                guard connection.index == 0 else { return connection.answerAll() }
                connection.readRequest()
                connection.answer("", status: "302 Found", headers: "Location: /elsewhere\r\n")
                connection.answerAll()
            }
            #expect(error?.code == .connectionLost)
        }

        @Test func pinsMeanNothingOverPlainHTTP() async throws {
            let error = try await self.send(requiresTLS: true) { $0.answerAll() }
            #expect(error?.code == .invalidConfiguration)
        }
    }
#endif
