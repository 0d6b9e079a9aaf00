import EmulatorMessages
import MobileTokenTesting
import TestSupport
import Testing

@testable import EmulatorHTTP
@testable import MobileTokenEmulator

/// Putting requests together from whatever pieces arrive.
@Suite(.timeLimit(.minutes(5))) struct RequestReadingTests {
    @Test func aRequestMayBeSplitAtEveryByte() async throws {
        try await withServer(Echo.answer) { server in
            let bytes = Array(Echo.post.utf8)
            for split in 1..<bytes.count {
                let client = try RawConnection(port: server.port)
                try await client.send(Array(bytes[..<split]))
                try await client.send(Array(bytes[split...]))
                #expect(try await client.response().text == Echo.answerToPost, "split at \(split)")
            }
            let client = try RawConnection(port: server.port)
            for byte in bytes { try await client.send([byte]) }
            #expect(try await client.response().text == Echo.answerToPost)
        }
    }

    @Test func pipelinedRequestsAreAnsweredInOrder() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            let requests = (1...20).map { "POST /\($0) HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nok" }
            try await client.send(requests.joined())
            for number in 1...20 { #expect(try await client.response().text == "POST /\(number)? - ok") }
        }
    }

    @Test func chunkedBodiesArePutTogether() async throws {
        try await withServer(Echo.answer) { server in
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

    @Test(arguments: [
        "Content-Length: 2\r\nContent-Length: 5\r\n", "Content-Length: 5\r\nX: y\r\ncontent-length: 2\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n", "Transfer-Encoding: xchunked\r\n",
        "Content-Length : 5\r\n", "Transfer-Encoding : chunked\r\n", "Content\u{1}-Length: 5\r\n",
    ])
    func aBodyThatMayEndInTwoPlacesIsRefusedAndTheConnectionClosed(framing: String) async throws {
        // Had it been read either way, what follows would have been answered as another request.
        let smuggled = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\n\(smuggled)")
            let answer = String(decoding: await client.readUntilEnd().bytes, as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 400 "))
            #expect(answer.contains("where its body ends"))
            #expect(!answer.contains("smuggled"))
            try await server.expectService()
        }
    }

    /// The library joins folded lines and ends at a zero byte without a word; others read them otherwise.
    @Test(arguments: [
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length:\r\n 2\r\n\r\nok",
        "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\t3\r\n\r\nok",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n b\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n X: y\r\n\r\n",
        "GET / HTTP/1.1\r\n Host: x\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\r\n \r\n b\r\nX: y\r\n\r\n",
        "GET /a\u{0}b HTTP/1.1\r\nHost: x\r\n\r\n", "GET /\u{0} HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /a\u{0}HTTP/1.1 HTTP/1.1\r\nHost: x\r\n\r\n", "GET /?a=\u{0}b HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\u{0}b\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\u{0}\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX\u{0}Y: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\r\n\u{0}X: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\r\nX-Test: a\u{7F}\r\n\r\n", "GET / HTTP/1.1\r\nHost: x\nX-Test: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: x\rX-Test: a\r\n\r\n",
    ])
    func aHeadThatMayBeReadInTwoWaysIsRefusedAndTheConnectionClosed(request: String) async throws {
        for tls in [Emulator.TLS.disabled, .selfSigned] {
            try await withEmulator(altered(Emulator.Configuration()) { $0.tls = tls }) { emulator async throws in
                let client = try emulator.connect()
                try await client.send(request + "GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
                client.finishSending()
                let bytes = await client.readUntilEnd().bytes
                let answer = String(decoding: bytes, as: UTF8.self)
                // A request that the library itself refuses may be refused by silence.
                #expect(bytes.isEmpty || answer.hasPrefix("HTTP/1.1 400 "), "\(answer)")
                #expect(!answer.contains("404"))
                #expect(await emulator.journal().isEmpty)
                #expect(try await emulator.send("GET", "/nothing").status == 404)
            }
        }
    }

    @Test func aLongHeadIsStillReadInOneWay() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            let fields = (0..<150).map { "X-\($0):\t  \(String(repeating: "v", count: $0))  \r\n" }.joined()
            for _ in 0..<3 {
                try await client.send("GET /%00%41?a=%00 HTTP/1.1\r\nHost: x\r\nX-Test:\r\nX-Empty: \r\n\(fields)\r\n")
                #expect(try await client.response().text == "GET /%00A?a=%00  ")
            }
        }
    }

    @Test(arguments: [
        ("HTTP/1.1\0\0\0\0", true), ("HTTP/1.1\0\0A\0b\0\0\0\0", true), ("HTTP/1.1\0\0A\0\0\0B\0 c\0\0\0\0", true),
        ("", false), ("HTTP/1.1", false), ("HTTP/1.1\0\0", false), ("HTTP/1.1\0\0A\0b\0\0", false),
        ("HTTP/1.1\0A\0b\0\0\0\0", false), ("HTTP/1.1\0\0 A\0b\0\0\0\0", false),
        ("HTTP/1.1\0\0A\0b\0C\0d\0\0\0\0", false),
        ("HTTP/1.1\0\0A\0b\0\0\tc\0\0\0\0", false), ("HTTP/1.1\0\0A\0b\0\0\0\0x", false), ("\0\0\0\0", false),
    ])
    func plainLinesAreNamesAndValues(head: String, isPlain: Bool) {
        Array(head.utf8).withUnsafeBytes { #expect(RequestHead.hasPlainLines($0) == isPlain) }
    }

    @Test(arguments: ["Content-Length: 5\r\nContent-Length: 5\r\n", "cOnTeNt-LeNgTh: 5\r\n"])
    func oneLengthIsOneLengthHoweverItIsWritten(framing: String) async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            for _ in 0..<2 {
                try await client.send("POST / HTTP/1.1\r\nHost: x\r\n\(framing)\r\nhello")
                #expect(try await client.response().text == "POST /? - hello")
            }
        }
    }

    @Test func aClientThatAsksFirstIsToldToGoOn() async throws {
        try await withServer(Echo.answer) { server in
            let client = try RawConnection(port: server.port)
            try await client.send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
            #expect(try await client.response().status == 100)
            try await client.send("ok")
            #expect(try await client.response().text == "POST /? - ok")
        }
    }

    @Test(arguments: [
        ("/enrollment-server/pa/v3/status", "/pa/v3/status", ""), ("/enrollment-server", "/", ""),
        ("/enrollment-serverx", "/enrollment-serverx", ""), ("/a%2Fb?x=%20", "/a%2Fb", "x=%20"),
        ("http://host:1/a?b", "/a", "b"), ("HTTPS://host", "/", ""), ("/a?b?c", "/a", "b?c"), ("*", "*", ""),
        ("/a?\u{301}b", "/a", "\u{301}b"), ("/enrollment-server/\u{301}a", "/\u{301}a", ""),
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
}
