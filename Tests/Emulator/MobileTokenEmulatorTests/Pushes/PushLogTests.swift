import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import TestSupport
import Testing

/// Push messages as they are kept, shown and sent on.
@Suite(.timeLimit(.minutes(5))) struct PushLogTests {
    @Test func theyAreReadOverHTTPUntilAReset() async throws {
        try await withEmulator { emulator async throws in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            try await PushService(activation: activation).register(token: "token", for: .apns)
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.blockActivation(activation.activationID)
            let pushes = await emulator.pushes()
            #expect(pushes.map(\.type) == ["mtoken.statusChange", "mtoken.operationInit"])
            #expect(pushes.allSatisfy { $0.token == "token" && $0.platform == "apns" && $0.userID == "alice" })
            func listed(_ query: String) async throws -> JSONValue {
                try JSONValue(parsing: Array(try await emulator.send("GET", "/_emulator/pushes\(query)").body))
            }
            #expect(try await listed("")["total"] == 2)
            #expect(try await listed("?activationId=\(activation.activationID)&limit=1")["items"]?.array?.count == 1)
            #expect(try await listed("?activationId=nobody")["total"] == 0)
            #expect(try await emulator.send("GET", "/_emulator/pushes/1").status == 200)
            for path in ["/_emulator/pushes/3", "/_emulator/pushes/x", "/_emulator/pushes/-1"] {
                #expect(try await emulator.send("GET", path).status == 404)
            }
            try await emulator.reset()
            #expect(await emulator.pushes().isEmpty)
        }
    }

    @Test func theyGoToAnAddressInThePlaceOfThePlatforms() async throws {
        let received = Shared<[JSONValue]>([])
        try await withServer({ request in
            received.update { $0.append((try? JSONValue(parsing: request.body)) ?? .null) }
            return .ok
        }) { server in
            var configuration = Emulator.Configuration()
            configuration.pushURL = "http://127.0.0.1:\(server.port)/push"
            try await withEmulator(configuration) { emulator async throws in
                let events = emulator.events()
                let activation = try await emulator.makeActivation(user: "alice", password: "1234")
                try await PushService(activation: activation).register(token: "token", for: .hms)
                try await emulator.cloud.createOperation("login", userID: "alice")
                for await event in events where event.kind == .delivery && event.status == "delivered" { break }
                let push = try #require(received.value.first)
                #expect(push["type"] == "PUSH" && push["token"] == "token" && push["platform"] == "hms")
                #expect(push["payload"]?["messageType"] == "mtoken.operationInit")
                let entry = try #require(await emulator.journal().first { $0.deliveryID != nil })
                #expect(entry.path == configuration.pushURL && entry.status == 200)
            }
        }
    }

    @Test(arguments: ["ftp://x", "x", "", "http://"]) func anAddressThatNothingCanBeSentToIsRefused(url: String) async {
        var configuration = Emulator.Configuration()
        configuration.pushURL = url
        await #expect {
            try await Emulator.start(configuration: configuration)
        } throws: {
            ($0 as? EmulatorError)?.code == .invalidConfiguration && "\($0)".contains("pushURL")
        }
    }
}
