import HTTPClientTransport
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ExchangeTests {
    @Test func aPostArrivesAsItWasWrittenAndTheAnswerComesBackWhole() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.answer(#"{"status":"OK"}"#, headers: "X-One: 1\r\nx-one:  2 \r\nEmpty:\r\n")
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let response = try await transport.send(
            HTTPRequest(
                url: server.url + "?a=b",
                headers: [
                    "Content-Type": "application/json", "X-PowerAuth-Token": #"PowerAuth version="3.3""#, "X-Empty": "",
                ],
                body: Array(#"{"requestObject":{}}"#.utf8)
            )
        )
        await transport.shutdown()

        #expect(response.status == 200)
        #expect(response.body == Array(#"{"status":"OK"}"#.utf8))
        #expect(response.headers.fields.map(\.name) == ["Content-Length", "X-One", "x-one", "Empty"])
        #expect(response.headers.fields.map(\.value) == ["15", "1", "2", ""])
        let request = try #require(server.requests.first)
        #expect(request.requestLine == "POST /pa/v3/operation?a=b HTTP/1.1")
        #expect(request.body == Array(#"{"requestObject":{}}"#.utf8))
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.header("X-PowerAuth-Token") == #"PowerAuth version="3.3""#)
        #expect(request.header("X-Empty") == "")
        if TestedTransport.isCurl { #expect(request.header("User-Agent") == "swift-mobile-token/1.0") }
    }

    @Test(
        arguments: [
            (HTTPRequest.Method.get, nil), (.get, "x"), (.post, nil), (.post, ""), (.post, "x"), (.put, "x"),
            (.put, nil),
            (.delete, nil), (.delete, "x"),
        ] as [(HTTPRequest.Method, String?)]
    )
    func everyMethodTakesABodyOrNone(method: HTTPRequest.Method, body: String?) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        // Twice on the same handle, with another kind of request between: nothing may stick to it.
        for request in [
            HTTPRequest(method, url: server.url, body: body.map { Array($0.utf8) }),
            HTTPRequest(.put, url: server.url, body: [1]),
            HTTPRequest(method, url: server.url, body: body.map { Array($0.utf8) }),
        ] {
            #expect(try await transport.send(request).body == Array("ok".utf8))
        }
        await transport.shutdown()

        #expect(server.requests.count == 3)
        for request in [server.requests[0], server.requests[2]] {
            #expect(request.requestLine.hasPrefix("\(method.rawValue) /"))
            #expect(request.body == Array((body ?? "").utf8))
            #expect(request.header("Content-Type") == nil)
            #expect(request.header("Expect") == nil)
        }
    }

    @Test func headersOfAnyNumberAndLengthArriveWhole() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        // On the same handle: many after few, few after many.
        let counts = [1, 40, 3, 200, 0]
        for count in counts {
            var headers: HTTPHeaders = [:]
            for number in 0..<count {
                headers.add(name: "X-\(number)", value: String(repeating: "v", count: number * 3))
            }
            _ = try await transport.send(HTTPRequest(url: server.url, headers: headers, body: [1]))
        }
        await transport.shutdown()
        for (request, count) in zip(server.requests, counts) {
            for number in 0..<count {
                #expect(request.header("X-\(number)") == String(repeating: "v", count: number * 3))
            }
            #expect(request.header("X-\(count)") == nil)
            #expect(request.header("Expect") == nil)
            #expect(request.header("Content-Type") == nil)
        }
    }

    @Test func aLongBodyIsSentWithoutAskingFirst() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        let body = [UInt8](repeating: 7, count: 3_000_000)
        _ = try await transport.send(HTTPRequest(url: server.url, body: body))
        await transport.shutdown()
        #expect(server.requests.first?.header("Expect") == nil)
        #expect(server.requests.first?.body == body)
    }

    @Test(arguments: [204, 301, 400, 401, 403, 404, 500, 503])
    func everyStatusIsAnAnswer(status: Int) async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.write(
                "HTTP/1.1 \(status) Because\r\nLocation: /elsewhere\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"
            )
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let response = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        #expect(response.status == status)
        #expect(response.headers["retry-after"] == "7")
        #expect(server.requests.count == 1)
    }

    @Test func interimAnswersAndTrailersAreLeftOut() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.write("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n")
            connection.write("HTTP/1.1 201 Created\r\nA: 1\r\nTransfer-Encoding: chunked\r\n\r\n")
            connection.write("2\r\nab\r\n3;x=y\r\ncde\r\n0\r\nTrailer: 1\r\n\r\n")
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let response = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        #expect(response.status == 201)
        #expect(response.body == Array("abcde".utf8))
        #expect(response.headers.fields.map(\.name) == ["A", "Transfer-Encoding"])
    }

    @Test func anAnswerInSingleBytesIsPutTogether() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            let answer =
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
            for byte in answer.utf8 { connection.write([byte]) }
            connection.waitForClose()
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let response = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        #expect(response.body == Array("abcde".utf8))
        #expect(response.headers["Content-Type"] == "text/plain")
    }

    @Test func aBodyMayEndWithItsConnection() async throws {
        let server = try ScriptedServer { connection in
            connection.readRequest()
            connection.write("HTTP/1.0 200 OK\r\n\r\nuntil the end")
        }
        defer { server.stop() }
        let transport = try TestedTransport()
        let response = try await transport.send(HTTPRequest(url: server.url))
        await transport.shutdown()
        #expect(response.body == Array("until the end".utf8))
    }

    @Test func requestsOneAfterTheOtherShareAConnection() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport()
        for _ in 0..<50 { _ = try await transport.send(HTTPRequest(url: server.url, body: [1, 2, 3])) }
        await transport.shutdown()
        #expect(server.requests.count == 50)
        #expect(server.acceptedCount == 1)
    }

    @Test func requestsAtOnceKeepToTheLimitOfConnections() async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.maximumRequestsPerHost = 3 })
        try await withThrowingTaskGroup { group in
            for number in 0..<300 {
                group.addTask { try await transport.send(HTTPRequest(url: server.url, body: Array("\(number)".utf8))) }
            }
            for try await response in group { #expect(response.status == 200) }
        }
        await transport.shutdown()
        #expect(Set(server.requests.map(\.body)).count == 300)
        #expect(server.requests.count == 300)
        #expect((1...3).contains(server.acceptedCount))
    }

    @Test(
        .enabled(if: TestedTransport.isCurl),
        arguments: [
            (CurlTransport.UserAgent.libraryDefault, "swift-mobile-token/"), (.systemDefault, "libcurl/"),
            (.custom("approval-bot/2.1"), "approval-bot/2.1"),
        ]
    )
    func theUserAgentIsAsConfigured(userAgent: CurlTransport.UserAgent, prefix: String) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        let transport = try TestedTransport(configuration: altered(.init()) { $0.userAgent = userAgent })
        _ = try await transport.send(HTTPRequest(url: server.url))
        _ = try await transport.send(HTTPRequest(url: server.url, headers: ["user-agent": "of the request"]))
        await transport.shutdown()
        #expect(server.requests.first?.header("User-Agent")?.hasPrefix(prefix) == true)
        #expect(server.requests.last?.header("User-Agent") == "of the request")
    }

    @Test(.enabled(if: TestedTransport.isCurl)) func aProxyIsAskedForTheWholeURL() async throws {
        let proxy = try ScriptedServer { $0.answerAll("from the proxy") }
        defer { proxy.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.proxy = .url("http://127.0.0.1:\(proxy.port)")
        let transport = try TestedTransport(configuration: configuration)
        let response = try await transport.send(HTTPRequest(url: "http://service.invalid/path", body: [1]))
        await transport.shutdown()
        #expect(response.body == Array("from the proxy".utf8))
        #expect(proxy.requests.first?.requestLine == "POST http://service.invalid/path HTTP/1.1")
    }

    @Test(arguments: [.seconds(Int64.max), Duration(attoseconds: .max)])
    func anEndlessTimeoutIsALongOne(timeout: Duration) async throws {
        let server = try ScriptedServer { $0.answerAll() }
        defer { server.stop() }
        var configuration = CurlTransport.Configuration()
        configuration.timeout = timeout
        configuration.connectTimeout = timeout
        configuration.idleConnectionLifetime = timeout
        configuration.maximumConnectionAge = timeout
        let transport = try TestedTransport(configuration: configuration)
        #expect(try await transport.send(HTTPRequest(url: server.url)).status == 200)
        #expect(try await transport.send(HTTPRequest(url: server.url, timeout: timeout)).status == 200)
        await transport.shutdown()
    }
}
