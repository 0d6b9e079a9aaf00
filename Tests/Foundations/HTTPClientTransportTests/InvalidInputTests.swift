import HTTPClientTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct InvalidInputTests {
    @Test(arguments: [
        "", "service.example.com", "/path", "ftp://127.0.0.1/", "file:///etc/passwd", "http:/127.0.0.1/", "http://",
        "http:///path",
        "http://:80/", "http://127.0.0.1:99999/", "http://127.0.0.1:port/", "http://user:password@127.0.0.1/",
        "http://127.0.0.1/a b", "http://127.0.0.1/\r\nX: 1", "http://127.0.0.1/\u{0}", "http://127.0.0.1/ä",
        "javascript://x", "http://[::1/",
        "http://127.0.0.1\\@example.com/",
    ])
    func aURLThatCannotBeUsedIsRefused(url: String) async throws {
        let transport = try CurlTransport()
        let error = await #expect(throws: HTTPTransportError.self) { try await transport.send(HTTPRequest(url: url)) }
        #expect(error?.code == .invalidRequest && error?.description.contains("password") == false)
        await transport.shutdown()
    }

    @Test(arguments: [
        ("X", "a\r\nInjected: 1"), ("X", "a\nb"), ("X", "a\u{0}b"), ("X", "a\u{7F}"), ("X\r\nInjected", "1"),
        ("X:", "1"), ("", "1"),
        ("X Y", "1"), ("X\u{0}", "1"), ("Ä", "1"), ("Content-Length", "5"), ("transfer-encoding", "chunked"),
    ])
    func aHeaderThatCannotBeUsedIsRefused(name: String, value: String) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try CurlTransport()
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(url: server.url, headers: [name: value]))
        }
        #expect(error?.code == .invalidRequest)
        await transport.shutdown()
        #expect(server.acceptedCount == 0)
    }

    @Test func noTimeAtAllIsATimeout() async throws {
        let transport = try CurlTransport()
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(HTTPRequest(url: "http://127.0.0.1:1/", timeout: .zero))
        }
        #expect(error?.code == .timeout)
        await transport.shutdown()
    }

    @Test(
        arguments: [
            { $0.timeout = .zero }, { $0.connectTimeout = .seconds(-1) }, { $0.maximumResponseSize = 0 },
            { $0.maximumHeaderSize = -1 },
            { $0.maximumRequestsPerHost = 0 }, { $0.maximumConnections = 0 }, { $0.userAgent = .custom("a\r\nb: c") },
            { $0.idleConnectionLifetime = .milliseconds(1) }, { $0.maximumConnectionAge = .zero },
            { $0.tls.validation = .certificateAuthority(file: "/no/such/file") },
            { $0.tls.pinnedPublicKeys = ["sha256//abc="] },
            { $0.tls.pinnedPublicKeys = ["/etc/hostname"] },
            { $0.tls.clientCertificate = .init(certificateFile: "/no/file", privateKeyFile: "/no/file") },
        ] as [@Sendable (inout CurlTransport.Configuration) -> Void]
    )
    func aConfigurationThatCannotBeUsedIsRefused(change: @Sendable (inout CurlTransport.Configuration) -> Void) {
        var configuration = CurlTransport.Configuration()
        change(&configuration)
        #expect { try CurlTransport(configuration: configuration) } throws: {
            ($0 as? HTTPTransportError)?.code == .invalidConfiguration
        }
    }

    @Test(arguments: [
        "", "proxy.example.com:3128", "//proxy.example.com", "ftp://proxy.example.com", "socks://proxy.example.com",
        "http://", "http://:3128", "http://proxy.example.com:99999", "http://user:hunter2@",
        "http://proxy example.com", "http://proxy.example.com\r\nX: 1", "http://proxy\u{0}", "http://[::1",
        "http\u{301}://proxy",
    ])
    func aProxyThatNothingCanGoThroughIsRefused(url: String) {
        #expect { try CurlTransport(configuration: altered(.init()) { $0.proxy = .url(url) }) } throws: { error in
            (error as? HTTPTransportError)?.code == .invalidConfiguration && "\(error)".contains("proxy")
                && !"\(error)".contains("hunter2")
        }
    }

    @Test(arguments: [
        "http://user:hunter2@proxy.example.com:3128", "HTTPS://proxy.example.com/", "socks5h://127.0.0.1:1080",
        "http://[::1]:3128", "socks4a://proxy",
    ])
    func aProxyOfEachKindIsAccepted(url: String) throws {
        _ = try CurlTransport(configuration: altered(CurlTransport.Configuration()) { $0.proxy = .url(url) })
    }

    @Test(
        arguments: [
            { $0.pinnedPublicKeys = ["sha256//" + String(repeating: "A", count: 43) + "="] },
            { $0.validation = .certificateAuthority(file: "/dev/null") },
            { $0.clientCertificate = .init(certificateFile: "/dev/null", privateKeyFile: "/dev/null") },
        ] as [@Sendable (inout CurlTransport.TLS) -> Void]
    )
    func whatOnlyTLSCanDoIsNotIgnoredOverPlainHTTP(change: @Sendable (inout CurlTransport.TLS) -> Void) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        change(&configuration.tls)
        let transport = try CurlTransport(configuration: configuration)
        for url in [server.url, "HTTP" + server.url.dropFirst(4)] {
            let error = await #expect(throws: HTTPTransportError.self) {
                try await transport.send(HTTPRequest(url: url, body: [1]))
            }
            #expect(error?.code == .invalidConfiguration)
        }
        await transport.shutdown()
        #expect(server.acceptedCount == 0)
    }
}
