import Coordination
import EmulatorBackend
import EmulatorMessages
import ExactJSON
import Foundation
import MobileToken
import MobileTokenTesting
import Testing

@testable import MobileTokenEmulator

/// What programs follow: the journal and the deliveries, which also are made by listeners.
@Suite(.timeLimit(.minutes(1))) struct FollowingTests {
    private func json(_ emulator: Emulator, _ method: String = "GET", _ path: String, _ body: String? = nil)
        async throws
        -> (status: Int, body: JSONValue)
    {
        let response = try await emulator.send(method, "/_emulator" + path, body: body)
        return (response.status, try JSONValue(parsing: Array(response.body)))
    }

    @Test func aDeliveryForListenersWaitsUntilOneReports() async throws {
        try await withEmulator { emulator in
            #expect(try await self.json(emulator, "POST", "/listeners").status == 200)
            #expect(try await self.json(emulator, "POST", "/listeners").status == 200)
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            // Twice asked for, it is still told once.
            #expect(emulator.deliveries().map(\.state) == ["waiting"])
            let feed = try await self.json(emulator, "GET", "/deliveries/feed").body
            #expect(feed["last"] == 1)
            let body = try JSONValue(parsing: try #require(feed["items"]?[0]?["body"]?.string))
            #expect(body["operationId"]?.string == operation.id && body["status"] == "PENDING")

            let reported = try await self.json(emulator, "POST", "/deliveries/1/outcome", #"{"status":204}"#)
            #expect(reported.status == 200 && reported.body["state"] == "delivered" && reported.body["status"] == 204)
            // A second listener comes too late.
            #expect(try await self.json(emulator, "POST", "/deliveries/1/outcome", #"{"status":500}"#).status == 409)
            #expect(await emulator.journal().last { $0.deliveryID == 1 }?.status == 204)

            try await emulator.cloud.cancelOperation(operation.id)
            let failure = #"{"failure":"connectionFailed"}"#
            let failed = try await self.json(emulator, "POST", "/deliveries/2/outcome", failure).body
            #expect(failed["state"] == "failed" && failed["failure"] == "connectionFailed")
        }
    }

    @Test func listenersGetPushesIfOneOfThemAsksForThem() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(user: "alice", password: "1234")
            try await PushService(activation: activation).register(token: "token", for: .fcm)
            func types() throws -> [String?] {
                try emulator.deliveries().reversed().map { try JSONValue(parsing: $0.body)["type"]?.string }
            }
            for body in [nil, "{}", #"{"pushes":false}"#] {
                #expect(try await self.json(emulator, "POST", "/listeners", body).status == 200)
            }
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try types() == ["OPERATION"])
            #expect(try await self.json(emulator, "POST", "/listeners", #"{"pushes":true}"#).status == 200)
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try types() == ["OPERATION", "OPERATION", "PUSH"])
            #expect(emulator.deliveries().map(\.state) == ["waiting", "waiting", "waiting"])
            let push = try JSONValue(parsing: try #require(emulator.deliveries().first?.body))
            #expect(push["token"] == "token" && push["payload"]?["messageType"] == "mtoken.operationInit")
            // Who asks without them takes nothing from another.
            _ = try await self.json(emulator, "POST", "/listeners")
            try await emulator.blockActivation(activation.activationID)
            #expect(try types().suffix(2) == ["ACTIVATION", "PUSH"])
            let refused = try await self.json(emulator, "POST", "/listeners", #"{"pushs":true}"#)
            #expect(refused.status == 400)
            let message = "'pushs' is not known here; did you mean 'pushes'?"
            #expect(refused.body["responseObject"]?["message"]?.string == message)
            // A reset takes the wish along.
            try await emulator.reset()
            #expect(await emulator.core.leavesPushesToListeners == false)
        }
    }

    private static let wrongReports: [(path: String, body: String, status: Int, message: String)] = [
        ("/deliveries/1/outcome", "{}", 400, "Either 'status' or 'failure' is needed"),
        ("/deliveries/1/outcome", #"{"status":200,"failure":"x"}"#, 400, "Either 'status' or 'failure' is needed"),
        ("/deliveries/1/outcome", #"{"stats":200}"#, 400, "'stats' is not known here; did you mean 'status'?"),
        ("/deliveries/1/outcome", #"{"status":99}"#, 400, "'status' is not 100 to 599"),
        ("/deliveries/1/outcome", #"{"status":"200"}"#, 400, "'status' is not a whole number"),
        ("/deliveries/7/outcome", #"{"status":200}"#, 404, "There is no such delivery"),
        ("/deliveries/x/outcome", #"{"status":200}"#, 404, "There is no such delivery"),
    ]

    private static let wrongQuestions = [
        "/deliveries/feed?wait=61", "/deliveries/feed?wait=-1", "/deliveries/feed?wait=soon",
        "/deliveries/feed?since=-1", "/deliveries/feed?limit=0", "/deliveries/feed?limit=1001", "/journal?wait=61",
        "/journal?since=x",
    ]

    @Test func whatIsWrongIsRefusedByNameAndChangesNothing() async throws {
        try await withEmulator { emulator in
            _ = try await self.json(emulator, "POST", "/listeners")
            try await emulator.cloud.createOperation("login", userID: "alice")
            for (path, body, status, message) in Self.wrongReports {
                let refused = try await self.json(emulator, "POST", path, body)
                #expect(refused.status == status)
                #expect(refused.body["responseObject"]?["message"]?.string == message)
                #expect(emulator.deliveries().map(\.state) == ["waiting"])
            }
            for path in Self.wrongQuestions {
                #expect(try await self.json(emulator, "GET", path).status == 400, "\(path)")
            }
        }
    }

    @Test func oneWhoWaitsIsToldAtOnce() async throws {
        try await withEmulator { emulator in
            _ = try await self.json(emulator, "POST", "/listeners")
            async let deliveries = self.json(emulator, "GET", "/deliveries/feed?wait=60")
            async let entries = self.json(emulator, "GET", "/journal?wait=60")
            while emulator.core.events.subscriberCount < 2 { await Task.yield() }
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await deliveries.body["items"]?.array?.count == 1)
            #expect(try await entries.body["entries"]?.array?.first?["path"] == "/v2/operations")
            // Nobody waits any more.
            while emulator.core.events.subscriberCount > 0 { await Task.yield() }
        }
    }

    @Test func aResetEndsTheWait() async throws {
        try await withEmulator { emulator in
            async let page = self.json(emulator, "GET", "/deliveries/feed?wait=60")
            while emulator.core.events.subscriberCount < 1 { await Task.yield() }
            try await emulator.reset()
            #expect(try await page.body["items"] == [])
        }
    }

    @Test func numbersOfAnotherRunMeanNothing() async throws {
        try await withEmulator { emulator in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let all = try await self.json(emulator, "GET", "/journal").body
            let run = try #require(all["run"]?.string)
            #expect(try await self.json(emulator, "GET", "/journal?since=1&run=\(run)").body["entries"] == [])
            let other = try await self.json(emulator, "GET", "/journal?since=1&run=another&wait=60").body
            #expect(other["entries"]?.array?.count == 1)
            // Even when there is nothing to tell: what was arranged with the other run is gone.
            let none = try await self.json(emulator, "GET", "/deliveries/feed?since=0&run=another&wait=60").body
            #expect(none["items"] == [] && none["run"]?.string == run)
            // A number that was never given is of another run, too: who waits with it would wait for ever.
            #expect(try await self.json(emulator, "GET", "/journal?since=9&wait=60").body["last"] == 1)
        }
    }

    @Test func noMoreWaitThanThereIsRoomFor() async throws {
        var configuration = Emulator.Configuration()
        configuration.capacity.eventStreams = 0
        try await withEmulator(configuration) { emulator async throws in
            #expect(try await self.json(emulator, "GET", "/journal?wait=1").status == 503)
            #expect(try await self.json(emulator, "GET", "/journal").status == 200)
        }
    }
}

@Suite struct CollectedDeliveryTests {
    private static func message(_ url: String, attempts: Int = 1) -> CallbackMessage {
        CallbackMessage(callbackID: "c", url: url, authorization: nil, body: [1], maximumAttempts: attempts)
    }

    @Test(arguments: [
        ("http://listener.invalid/", true), ("https://LISTENER.invalid:8080/x", true),
        ("http://listener.invalid.example/", false),
        ("http://example.com/listener.invalid", false), ("http://xlistener.invalid/", false),
    ])
    func theNameAloneTells(url: String, isCollected: Bool) {
        #expect(Self.message(url).isCollected == isCollected)
    }

    @Test func itIsNeverSentAndWaitsAgainAfterAFailure() {
        var outbox = Outbox()
        let id = outbox.add(Self.message("http://listener.invalid/", attempts: 2), at: 0).id
        let nothing = outbox.takeDue(at: .max)
        #expect(outbox.nextDue == nil && nothing.isEmpty)
        #expect(outbox[id]?.state == .waiting)
        let taken = (first: outbox.takeCollected(id), second: outbox.takeCollected(id))
        #expect(taken.first?.state == .underWay && taken.second == nil)
        outbox.finish(id, .response(status: 500), at: 5)
        #expect(outbox[id]?.state == .waiting && outbox.nextDue == nil)
        let again = outbox.takeCollected(id)
        #expect(again?.attempts == 1)
        outbox.finish(id, .response(status: 500), at: 6)
        #expect(outbox[id]?.state == .failed)
        let late = outbox.takeCollected(id)
        #expect(late == nil)
        let (isReplayed, due, resent) = (outbox.replay(id, at: 7), outbox.takeDue(at: .max), outbox.takeCollected(id))
        #expect(isReplayed && due.isEmpty && resent?.id == id)
        // One that is sent is none for listeners.
        let sent = outbox.add(Self.message("http://127.0.0.1/"), at: 8).id
        let (collected, sending) = (outbox.takeCollected(sent), outbox.takeDue(at: 8))
        #expect(collected == nil && sending.map(\.id) == [sent])
        #expect(outbox.deliveries(since: id, limit: 5).map(\.id) == [sent] && outbox.lastID == sent)
    }
}
