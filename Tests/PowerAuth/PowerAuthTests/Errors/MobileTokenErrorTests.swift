import Basics
import ExactJSON
import HTTPClientTransport
import Testing

import PowerAuth

@Suite(.timeLimit(.minutes(5))) struct MobileTokenErrorTests {
    /// The server's words can neither steer a terminal nor forge the next line of a log.
    @Test func theServersWordsAreShownEscapedAndCut() {
        let message =
            "\u{1B}[2J\u{1B}]0;x\u{7}\r\n2026-01-01 INFO fine \u{202E}" + String(repeating: "x", count: 10_000)
        let code = "A\r\nB\u{9B}" + String(repeating: "C", count: 500)
        let error = MobileTokenError(.serverError, message, httpStatus: 500, serverCode: code)
        for text in ["\(error)", String(reflecting: error), "\([error])"] {
            #expect(text.unicodeScalars.allSatisfy { !DisplayText.isUnsafe($0) })
            #expect(text.utf8.count < 1_000)
            #expect(text.contains(#"\u{1B}[2J"#) && text.contains(#"\r\n2026"#) && text.contains(#"\u{202E}"#))
        }
        #expect(error.message == message)
        #expect(error.serverCode == code)
    }

    @Test func aShortMessageIsShownAsItIs() {
        let error = MobileTokenError(.serverError, "Účet je prázdný", httpStatus: 400, serverCode: "NO_MONEY")
        #expect("\(error)" == "serverError: Účet je prázdný (HTTP 400) [NO_MONEY]")
    }

    /// A page of some proxy instead of JSON, on every call of the protocol.
    @Test(arguments: ["<html>", "", "[]", #"{"status":"OK"}"#])
    func anUnreadableBodyTellsItsStatus(body: String) async throws {
        let path = PowerAuthEndpoint<PowerAuthEmptyBody, JSONValue>("/api/x", .none)
        let transport = PageTransport(page: HTTPResponse(status: 203, body: Array(body.utf8)))
        let fixture = try Fixture(transport: transport)
        let client = fixture.client
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await client.call(path, PowerAuthEmptyBody())
        }
        #expect(error?.code == .invalidResponse)
        #expect(error?.httpStatus == 203)
        let activation = await #expect(throws: MobileTokenError.self) {
            _ = try await client.activate(code: try fixture.server.makeCode(), password: Fixture.password)
        }
        #expect(activation?.code == .invalidResponse)
        #expect(activation?.httpStatus == 203)
    }

    private struct PageTransport: HTTPTransport {
        let page: HTTPResponse
        func send(_ request: HTTPRequest) async throws -> HTTPResponse { self.page }
    }
}
