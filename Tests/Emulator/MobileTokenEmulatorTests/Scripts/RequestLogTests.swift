import EmulatorMessages
import ExactJSON
import MobileTokenTesting
import TestSupport
import Testing
import WireFacts

@testable import MobileTokenEmulator

@Suite(.timeLimit(.minutes(5))) struct RequestLogTests {
    @Test func aRequestIsALineWithoutAnythingSecret() async throws {
        let logged = Shared<[Emulator.LoggedRequest]>([])
        var configuration = Emulator.Configuration()
        configuration.requestLog = { request in logged.update { $0.append(request) } }
        try await withEmulator(configuration) { emulator in
            let registration = try await emulator.cloud.register(userID: "alice")
            logged.update { $0 = [] }
            let path = "/v2/registrations/\(registration.id)"
            let wrong = "Authorization: Basic c2VjcmV0OnNlY3JldA=="
            try await emulator.bank("GET", path + "?zebra=secret")
            try await emulator.send("GET", path + "?zebra=secret", headers: [wrong])
            try await emulator.send("GET", "/_emulator/journal?since=0")
            try await emulator.send("GET", "/" + String(repeating: "x", count: 5000) + "%0A")
            await emulator.faults.add(FaultRule(effect: .init(reset: .before)))
            _ = try? await emulator.bank("GET", path)
            let lines = logged.value
            #expect(lines.map(\.status) == [200, 401, 200, 404, 0])
            #expect(lines.map(\.code) == [nil, "HTTP_401", nil, "ERROR_NOT_FOUND", nil])
            #expect(lines.first?.activationID == registration.id && lines.first?.path == path)
            for logged in lines {
                let document = String(decoding: logged.document.serialized(), as: UTF8.self)
                for text in [logged.line, document] {
                    #expect(!text.contains("secret") && !text.contains("c2Vj") && text.utf8.count < 500)
                    #expect(!text.contains("\n"))
                }
                #expect(logged.milliseconds >= 0)
            }
        }
    }

    @Test(.wireFact("6.1", "B4")) func whatWasIgnoredIsInTheLogAndInTheJournal() async throws {
        let logged = Shared<[Emulator.LoggedRequest]>([])
        var configuration = Emulator.Configuration()
        configuration.requestLog = { request in logged.update { $0.append(request) } }
        try await withEmulator(configuration) { emulator in
            let warning = "ignored: 'userID', did you mean 'userId'?"
            let body = #"{"userId":"alice","userID":"secret"}"#
            let cloud = "/powerauth-cloud/v2/registrations"
            #expect(try await emulator.bank("POST", cloud, body).status == 200)
            let line = try #require(logged.value.last)
            #expect(line.warnings == [warning] && line.line.contains("  \(warning)  "))
            #expect(line.document["warnings"] == [.string(warning)])
            #expect(!line.line.contains("secret"))
            let entry = try #require(await emulator.journal().last)
            let expected = Emulator.JournalEntry.Warning(member: "userID", suggestion: "userId", message: warning)
            #expect(entry.warnings == [expected] && entry.isAccepted && entry.path == "/v2/registrations")
            let journal = try await emulator.send("GET", "/_emulator/journal")
            #expect(journal.text.contains(#""suggestion":"userId""#))
            // The same call in the server's own API is refused.
            let own = "/_emulator/cloud/registrations"
            let refused = try await emulator.bank("POST", own, body)
            #expect(refused.status == 400 && refused.text.contains("did you mean 'userId'"))
            #expect(await emulator.journal().last?.refusal?.contains("did you mean 'userId'") == true)
        }
    }

    @Test func whatComesFromOutsideStaysOnItsLine() {
        let request = ReceivedRequest(method: "GET\u{1B}[2J" + String(repeating: "G", count: 99), path: "/a\r\nPOST /b")
        let response = ServerResponse.error(
            400,
            code: "X\u{202E}\n" + String(repeating: "C", count: 999),
            message: "secret"
        )
        let logged = Emulator.LoggedRequest(request, response, duration: .milliseconds(2))
        #expect(!logged.line.unicodeScalars.contains { $0.value < 0x20 || $0 == "\u{202E}" })
        #expect(logged.line.utf8.count < 300 && logged.line.hasSuffix("2.0 ms") && !logged.line.contains("secret"))
    }
}
