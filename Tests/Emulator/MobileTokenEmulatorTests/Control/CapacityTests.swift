import Coordination
import ExactJSON
import Foundation
import MobileTokenTesting
import TestSupport
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The limits on the things that callers can make the server hold. Each is set low here, met, and passed by one.
@Suite(.timeLimit(.minutes(5))) struct CapacityTests {
    private func fixture(_ change: (inout Emulator.Capacity) -> Void) throws -> BackendFixture {
        try BackendFixture { change(&$0.capacity) }
    }

    /// Sends a request until it is refused; returns how often it was granted.
    private func count(_ send: () -> Reply) -> Int {
        for count in 0..<100 {
            let reply = send()
            guard reply.status != 200 else { continue }
            #expect(reply.outcome == "507 CAPACITY_EXCEEDED")
            return count
        }
        Issue.record("there is no end of it")
        return 100
    }

    @Test func objectsOfTheControlAPIAreCounted() throws {
        var fixture = try self.fixture {
            $0.activations = 3
            $0.operations = 4
            $0.messages = 5
            $0.applications = 6
        }
        #expect(self.count { fixture.cloud("POST", "/v2/registrations", ["userId": "alice"]) } == 3)
        #expect(self.count { fixture.cloud("POST", "/v2/operations", ["template": "login"]) } == 4)
        let message: JSONValue = ["userId": "alice", "subject": "a", "summary": "b", "body": "c"]
        #expect(self.count { fixture.cloud("POST", "/v2/inbox/messages", message) } == 5)
        var number = 0
        let applications = self.count {
            number += 1
            return fixture.cloud("POST", "/admin/applications", ["id": .string("\(number)")])
        }
        #expect(applications == 5)  // beside the one there is from the start
    }

    @Test func aRefusalChangesNothing() throws {
        var fixture = try self.fixture { $0.operations = 1 }
        _ = try fixture.operation()
        let before = try fixture.exportedState()
        #expect(fixture.cloud("POST", "/v2/operations", ["template": "login"]).status == 507)
        #expect(try fixture.exportedState() == before)
    }

    @Test func whatWasSentIsWeighed() throws {
        var fixture = try self.fixture { $0.storedBytes = 100_000 }
        let body = String(repeating: "x", count: 20_000)
        let message: JSONValue = ["userId": "alice", "subject": "a", "summary": "b", "body": .string(body)]
        #expect(self.count { fixture.cloud("POST", "/v2/inbox/messages", message) } == 4)
        // Something small still fits, but not without end.
        #expect((1...16).contains(self.count { fixture.cloud("POST", "/v2/operations", ["template": "login"]) }))
        #expect(fixture.cloud("GET", "/v2/operations").status == 200)
    }

    @Test func whatARefusedRequestSentIsNotKept() throws {
        var fixture = try self.fixture { $0.storedBytes = 100_000 }
        let nonsense: JSONValue = [
            "template": "no such template", "externalId": .string(String(repeating: "x", count: 20_000)),
        ]
        for _ in 0..<20 { #expect(fixture.cloud("POST", "/v2/operations", nonsense).code == "ERROR_REQUEST") }
        _ = try fixture.operation()
    }

    @Test func whatDevicesSendAlongIsWeighed() throws {
        var fixture = try self.fixture { $0.storedBytes = 30_000 }
        var device = try fixture.activeDevice()
        let operation = try fixture.operation()
        let more: JSONObject = ["mobileTokenData": ["note": .string(String(repeating: "x", count: 40_000))]]
        #expect(try device.authorize(operation, more: more, in: &fixture).outcome == "507 CAPACITY_EXCEEDED")
        #expect(fixture.status(ofOperation: operation.id) == .pending)
        #expect(try device.authorize(operation, in: &fixture).status == 200)
    }

    @Test func tokensAreCountedWhileTheyLast() throws {
        var fixture = try self.fixture { $0.tokens = 2 }
        var device = try fixture.deviceWithToken()
        try device.createToken(in: &fixture)
        let refused = try device.sendEncrypted("token/create", .possession, in: &fixture)
        #expect(refused.reply.outcome == "507 CAPACITY_EXCEEDED")
        let token: JSONValue = ["requestObject": ["tokenId": .string(device.tokenID)]]
        #expect(try device.sendSigned("/pa/v3/token/remove", .possession, token, in: &fixture).status == 200)
        try device.createToken(in: &fixture)
    }

    @Test func activationsThatNobodyRegisteredAreCounted() throws {
        var fixture = try self.fixture { $0.activations = 1 }
        fixture.backend.protocolRules.acceptsCustomIdentities = true
        _ = try fixture.activeDevice()
        var other = fixture.newDevice()
        let reply = try other.sendActivation(["username": "bob"], kind: "CUSTOM", in: &fixture).reply
        #expect(reply.outcome == "507 CAPACITY_EXCEEDED")
        #expect(fixture.backend.activations.count == 1)
    }

    @Test func flagsAreCountedAndShort() throws {
        var fixture = try self.fixture { $0.flagsPerRegistration = 3 }
        let device = try fixture.activeDevice(flags: ["a"])
        let path = "/v2/registrations/\(device.activationID)/flags"
        #expect(fixture.cloud("POST", path, ["flags": ["a", "b", "c"]]).status == 200)
        #expect(fixture.cloud("POST", path, ["flags": ["d"]]).outcome == "507 CAPACITY_EXCEEDED")
        let registration: JSONValue = ["userId": "bob", "flags": ["a", "b", "c", "d"]]
        #expect(fixture.cloud("POST", "/v2/registrations", registration).outcome == "507 CAPACITY_EXCEEDED")
        #expect(fixture.cloud("GET", path).json["flags"]?.array?.count == 3)
        let long: JSONValue = ["flags": [.string(String(repeating: "x", count: 256))]]
        _ = fixture.cloud("DELETE", path)
        #expect(fixture.cloud("POST", path, long).code == "INVALID_REQUEST")
    }

    @Test func aResetMakesRoom() async throws {
        try await withEmulator(altered(.init()) { $0.capacity.operations = 1 }) { emulator async throws in
            try await emulator.cloud.createOperation("login", userID: "alice")
            let error = await #expect(throws: CloudError.self) {
                try await emulator.cloud.createOperation("login", userID: "alice")
            }
            #expect(error?.httpStatus == 507)
            try await emulator.reset()
            try await emulator.cloud.createOperation("login", userID: "alice")
        }
    }

    @Test func anImportedStateCountsToo() async throws {
        var configuration = Emulator.Configuration()
        configuration.capacity.operations = 2
        configuration.capacity.storedBytes = 10_000
        try await withEmulator(configuration) { emulator async throws in
            let empty = try await emulator.exported()
            #expect(empty.count < 5_000)
            for _ in 0..<2 { try await emulator.cloud.createOperation("login", userID: "alice") }
            try await emulator.importState(await emulator.exported())
            await #expect(throws: CloudError.self) {
                try await emulator.cloud.createOperation("login", userID: "alice")
            }
            let padded = empty + Data(repeating: UInt8(ascii: " "), count: 10_000)
            try await emulator.importState(padded)
            let error = await #expect(throws: CloudError.self) {
                try await emulator.cloud.createOperation("login", userID: "alice")
            }
            #expect(error?.httpStatus == 507)
        }
    }

    @Test func faultRulesAreCountedAndShort() async throws {
        try await withEmulator(altered(.init()) { $0.capacity.faultRules = 2 }) { emulator async throws in
            let rule = #"{"effect":{"delay":0.001}}"#
            for status in [200, 200, 507, 507] {
                #expect(try await emulator.send("POST", "/_emulator/faults", body: rule).status == status)
            }
            let three = #"{"rules":[\#(rule),\#(rule),\#(rule)]}"#
            let refused = try await emulator.send("PUT", "/_emulator/faults", body: three)
            #expect(refused.status == 507)
            #expect(refused.text.contains("CAPACITY_EXCEEDED"))
            #expect(await emulator.faults.rules.count == 2)
            let path = String(repeating: "x", count: 1025)
            let long = #"{"rules":[{"match":{"path":"\#(path)"},"effect":{}}]}"#
            #expect(try await emulator.send("PUT", "/_emulator/faults", body: long).status == 400)
            // In this process nobody has to be held back.
            await emulator.faults.add(FaultRule(effect: .init(delay: 0)))
            #expect(await emulator.faults.rules.count == 3)
        }
    }

    @Test func readersOfEventsAreCountedWhileTheyRead() async throws {
        try await withEmulator(altered(.init()) { $0.capacity.eventStreams = 2 }) { emulator async throws in
            var readers: [RawConnection] = []
            for _ in 0..<2 {
                let reader = try emulator.connect()
                try await reader.send("GET /_emulator/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
                #expect(try await reader.responseHeadAndChunk().hasPrefix("HTTP/1.1 200"))
                readers.append(reader)
            }
            let refused = try await emulator.send("GET", "/_emulator/events")
            #expect(refused.status == 503)
            #expect(refused.text.contains("CAPACITY_EXCEEDED"))
            // The server notices at the next write that a reader has gone, and makes room.
            readers.removeLast()
            while emulator.core.events.subscribe(unlessThereAre: 2) == nil { await emulator.faults.removeAll() }
            let reader = try emulator.connect()
            try await reader.send("GET /_emulator/events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(try await reader.responseHeadAndChunk().hasPrefix("HTTP/1.1 200"))
        }
    }
}
