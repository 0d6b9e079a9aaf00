import EmulatorHTTP
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

/// The bank's side: what it was told, and what it answers.
private final class Bank: Sendable {
    let received = Shared<[ReceivedRequest]>([])
    let status = Shared(200)

    func respond(to request: ReceivedRequest) async -> ServerResponse {
        self.received.update { $0.append(request) }
        return .json(["noted": true], status: self.status.value)
    }

    var statuses: [String?] { self.received.value.map { (try? JSONValue(parsing: $0.body))?["status"]?.string } }
}

extension Emulator {
    fileprivate func waitForDelivery(_ state: String, in events: AsyncStream<Emulator.Event>, times: Int = 1) async {
        var times = times
        for await event in events where event.kind == .delivery && event.status == state {
            times -= 1
            if times == 0 { return }
        }
    }

    /// Returns the callback's identifier.
    @discardableResult
    func createCallback(_ url: String, _ more: JSONObject = [:]) async throws -> String {
        var body: JSONObject = [
            "name": "bank", "type": "OPERATION", "callbackUrl": .string(url), "attributes": ["status"],
        ]
        for member in more.members { body[member.key] = member.value }
        let created = try await self.bank("POST", "/v2/callbacks", json: .object(body))
        return try #require(try JSONValue(parsing: Array(created.body))["callbackId"]?.string)
    }
}

/// Callbacks over real sockets.
@Suite(.timeLimit(.minutes(5))) struct CallbackDeliveryTests {
    private func withBank(
        _ body: (Emulator, Bank, _ url: String) async throws -> Void
    ) async throws {
        let bank = Bank()
        try await withServer({ await bank.respond(to: $0) }) { server in
            let url = "http://127.0.0.1:\(server.port)/hook"
            try await withEmulator { try await body($0, bank, url) }
        }
    }

    @Test func theBankIsToldOfEachStatusWithItsCredentials() async throws {
        try await self.withBank { emulator, bank, url in
            let basic: JSONValue = ["httpBasic": ["username": "emu", "password": "pass"]]
            try await emulator.createCallback(url, ["authentication": basic])
            let events = emulator.events()
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("delivered", in: events)
            try await emulator.cloud.cancelOperation(operation.id)
            await emulator.waitForDelivery("delivered", in: events)
            #expect(bank.statuses == ["PENDING", "CANCELED"])
            let request = try #require(bank.received.value.first)
            #expect(request.method == "POST" && request.path == "/hook" && request.isJSON)
            #expect(request.header("Authorization") == "Basic ZW11OnBhc3M=")

            // Every attempt is in the journal, without the password.
            let entry = try #require(await emulator.journal().first { $0.deliveryID == 1 })
            #expect(entry.path == url && entry.status == 200 && entry.isAccepted)
            #expect(entry.responseBody == #"{"noted":true}"#)
            #expect(entry.headers.contains { $0.name == "Authorization" && $0.value == "Basic …" })
            #expect(emulator.deliveries().map(\.state) == [.delivered, .delivered])
        }
    }

    @Test func anAttemptThatFailsIsMadeAgainOnTheServersClock() async throws {
        try await self.withBank { emulator, bank, url in
            // To whole milliseconds, as deliveries are due.
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_800_000_000))
            try await emulator.createCallback(url, ["maxAttempts": 3])
            bank.status.value = 503
            let events = emulator.events()
            try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("waiting", in: events, times: 2)  // made, and failed once
            let waiting = try #require(emulator.deliveries().first)
            let now = await emulator.clock.now
            #expect(waiting.attempts == 1 && waiting.status == 503)
            #expect(try #require(waiting.due).timeIntervalSince(now) == 2)
            await emulator.clock.advance(by: .seconds(2))
            await emulator.waitForDelivery("waiting", in: events)
            bank.status.value = 200
            await emulator.clock.advance(by: .seconds(3))
            await emulator.waitForDelivery("delivered", in: events)
            #expect(bank.received.value.count == 3 && emulator.deliveries().first?.attempts == 3)
            let journaled = await emulator.journal().filter { $0.deliveryID == 1 }
            #expect(journaled.map(\.status) == [503, 503, 200])
            #expect(journaled.first?.refusal == "the bank answered 503")
            // As recorded: one key for the event, and nothing is traced.
            let requests = bank.received.value
            #expect(Set(requests.map { $0.header("Idempotency-Key") }).count == 1)
            #expect(UUID(uuidString: try #require(requests.first?.header("Idempotency-Key"))) != nil)
            let traces = Set(requests.map { $0.header("traceparent") })
            #expect(traces == ["00-00000000000000000000000000000000-0000000000000000-00"])
            bank.received.update { $0 = [] }
            try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("delivered", in: events)
            let other = bank.received.value.first?.header("Idempotency-Key")
            #expect(other != nil && other != requests.first?.header("Idempotency-Key"))
        }
    }

    /// DEFECTS3 E 44.
    @Test func anotherAttemptArrivesBeforeLaterNewsOfItsOperation() async throws {
        try await self.withBank { emulator, bank, url in
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_800_000_000))
            try await emulator.createCallback(url, ["maxAttempts": 2])
            bank.status.value = 503
            let events = emulator.events()
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("waiting", in: events, times: 2)  // made, and failed once
            bank.status.value = 200
            try await emulator.cloud.cancelOperation(operation.id)
            #expect(try await emulator.settle(within: .seconds(60)).count == 2)
            await emulator.clock.advance(by: .seconds(2))
            await emulator.waitForDelivery("delivered", in: events, times: 2)
            #expect(bank.statuses == ["PENDING", "PENDING", "CANCELED"])
        }
    }

    @Test func aLateCallbackIsPassedByLaterNews() async throws {
        try await self.withBank { emulator, bank, url in
            await emulator.clock.freeze(at: Date(timeIntervalSince1970: 1_800_000_000))
            try await emulator.createCallback(url)
            await emulator.faults.add(
                FaultRule(name: "shuffle", match: .init(path: "*://**", nth: 1), effect: .init(late: 5))
            )
            let events = emulator.events()
            let operation = try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(try await emulator.settle(within: .seconds(60)).count == 1)
            #expect(await emulator.faults.counts.map(\.waiting) == [1])
            try await emulator.cloud.cancelOperation(operation.id)
            await emulator.waitForDelivery("delivered", in: events)
            await emulator.clock.advance(by: .seconds(5))
            await emulator.waitForDelivery("delivered", in: events)
            #expect(bank.statuses == ["CANCELED", "PENDING"])
            #expect(await emulator.journal().filter { $0.deliveryID != nil }.map(\.fault) == [nil, "shuffle"])
        }
    }

    @Test func faultsStrikeCallbacksAndADeliveryIsSentAgain() async throws {
        try await self.withBank { emulator, bank, url in
            try await emulator.createCallback(url)
            await emulator.faults.set([
                FaultRule(name: "lost", match: .init(path: "http://**/hook", nth: 1), effect: .init(reset: .before)),
                FaultRule(name: "angry", match: .init(path: "http://**/hook", nth: 2), effect: .init(status: 500)),
                FaultRule(name: "deaf", match: .init(path: "http://**/hook", nth: 3), effect: .init(reset: .after)),
            ])
            let events = emulator.events()
            try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("failed", in: events)
            #expect(bank.received.value.isEmpty)
            let path = "/_emulator/deliveries/1/replay"
            for received in [0, 1, 2] {
                #expect(try await emulator.send("POST", path).status == 200)
                await emulator.waitForDelivery(received == 2 ? "delivered" : "failed", in: events)
                #expect(bank.received.value.count == received)
            }
            #expect(await emulator.journal().compactMap(\.fault) == ["lost", "angry", "deaf"])
            #expect(emulator.deliveries().first?.attempts == 4)
            #expect(try await emulator.send("POST", "/_emulator/deliveries/7/replay").status == 404)
            let listed = try JSONValue(parsing: Array(try await emulator.send("GET", "/_emulator/deliveries").body))
            #expect(listed["total"] == 1 && listed["items"]?[0]?["state"] == "delivered")
        }
    }

    @Test func ofAnActivationTheBankIsToldTheStatusAndNothingElse() async throws {
        try await self.withBank { emulator, bank, url in
            try await emulator.createCallback(url, ["type": "ACTIVATION", "attributes": ["activationStatus"]])
            let events = emulator.events()
            let registration = try await emulator.cloud.register(userID: "alice")
            await emulator.waitForDelivery("delivered", in: events)
            let flags = "/v2/registrations/\(registration.id)/flags"
            #expect(try await emulator.bank("POST", flags, #"{"flags":["A"]}"#).status == 200)
            try await emulator.removeActivation(registration.id)
            await emulator.waitForDelivery("delivered", in: events)
            let told = bank.received.value.map { (try? JSONValue(parsing: $0.body))?["activationStatus"]?.string }
            #expect(told == ["CREATED", "REMOVED"])
        }
    }

    @Test func aBankThatIsNotThereIsSaidSoAndAResetForgetsAll() async throws {
        try await self.withBank { emulator, _, _ in
            try await emulator.createCallback("http://127.0.0.1:1/hook")
            let events = emulator.events()
            try await emulator.cloud.createOperation("login", userID: "alice")
            await emulator.waitForDelivery("failed", in: events)
            let entry = try #require(await emulator.journal().last)
            #expect(entry.status == 0 && entry.refusal?.contains("connectionFailed") == true)
            #expect(emulator.deliveries().first?.failure?.contains("connectionFailed") == true)
            try await emulator.reset()
            #expect(emulator.deliveries().isEmpty)
        }
    }

    @Test func aCallbackIsTriedAndWhatHasFailedIsSentAgain() async throws {
        try await self.withBank { emulator, bank, url in
            let id = try await emulator.createCallback(url)
            bank.status.value = 503
            try await emulator.cloud.createOperation("login", userID: "alice")
            try await emulator.settle(within: .seconds(60))
            bank.status.value = 200
            let test = try await emulator.send("POST", "/_emulator/callbacks/\(id)/test")
            #expect(test.status == 200 && test.text.contains(#""callbackName":"bank""#))
            try await emulator.settle(within: .seconds(60))
            let body = try JSONValue(parsing: try #require(bank.received.value.last).body)
            #expect(body == ["type": "OPERATION", "operationId": "00000000-0000-0000-0000-000000000000"])
            let resent = try await emulator.send("POST", "/_emulator/callbacks/\(id)/resend")
            #expect(try JSONValue(parsing: resent.body) == ["count": 1])
            try await emulator.settle(within: .seconds(60))
            #expect(emulator.deliveries().map(\.state) == [.delivered, .delivered])
            #expect(bank.statuses == ["PENDING", nil, "PENDING"])
            for way in ["test", "resend"] {
                #expect(try await emulator.send("POST", "/_emulator/callbacks/none/\(way)").status == 404)
            }
        }
    }
}
