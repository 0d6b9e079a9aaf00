import ExactJSON
import Foundation
import MobileTokenTesting
import Testing

/// The actions of a virtual device beside its decisions, in each version of the protocol.
@Suite(.timeLimit(.minutes(5))) struct DeviceActTests {
    private static let versions = ProtocolVersion.allCases

    // MARK: Operations

    @Test(arguments: Self.versions) func itTakesAnOperationOfNobodyAndDecidesIt(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", version: version.rawValue)
            let operation = try await emulator.cloud.createOperation("login", userID: nil).id
            let claim = #"{"operationId":"\#(operation)"}"#
            let response = try await emulator.ask("/devices/\(device.id)/claims", method: "POST", body: claim)
            #expect(response.status == 200, "\(response.body)")
            #expect(await emulator.decision(on: operation)?.status == .approved)
            #expect(try await emulator.cloud.operation(operation).userID == "alice")
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.claim(operation, byDevice: device.id)
            }
            #expect(error?.code == .refused && error?.message.contains("OPERATION_ALREADY_FINISHED") == true)
        }
    }

    @Test(arguments: Self.versions) func itApprovesWithoutANetwork(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", version: version.rawValue, rule: .init(.never))
            let operation = try await emulator.cloud.createOperation("payment", userID: "alice").id
            let path = "/v2/operations/\(operation)/offline"
            let asked = try await emulator.bank("GET", "\(path)/qr?registrationId=\(device.id)")
            let code = try JSONValue(parsing: asked.body)
            let scanned: JSONValue = ["operationQrCodeData": code["operationQrCodeData"] ?? .null]
            let text = String(decoding: scanned.serialized(), as: UTF8.self)
            let shown = try await emulator.ask("/devices/\(device.id)/offline-codes", method: "POST", body: text)
            #expect(shown.status == 200, "\(shown.body)")
            // Nothing that a device asks for by itself moves its counter past the code.
            let inbox = try await emulator.ask("/devices/\(device.id)/inbox")
            #expect(inbox.status == 200, "\(inbox.body)")
            let typed: JSONValue = [
                "otp": shown.body["otp"] ?? .null, "nonce": code["nonce"] ?? .null,
                "registrationId": .string(device.id),
            ]
            let verdict = try await emulator.bank("POST", "\(path)/otp", json: typed)
            #expect(try JSONValue(parsing: verdict.body)["otpValid"] == true, "\(verdict.text)")
            #expect(try await emulator.cloud.operation(operation).status == .approved)
        }
    }

    @Test func whatIsNoOperationGivesNoOfflineCode() async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let counter = await emulator.activations().map(\.counter)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.offlineCode(for: "nothing", byDevice: device.id)
            }
            let message = try #require(error?.message)
            #expect(error?.code == .refused)
            #expect(message.contains("the QR code is none of an operation: line 2 is missing"), "\(message)")
            #expect(await emulator.activations().map(\.counter) == counter)
        }
    }

    // MARK: Inbox

    @Test(arguments: Self.versions) func itShowsAndReadsTheInbox(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = try await emulator.makeDevice(userID: "alice", version: version.rawValue, rule: .init(.never))
            for subject in ["first", "second"] {
                let message = CloudClient.NewMessage(userID: "alice", subject: subject, summary: "S", body: "<b>B</b>")
                _ = try await emulator.cloud.createMessage(message)
            }
            let inbox = try await emulator.inbox(ofDevice: device.id)
            #expect(inbox.unread == 2 && Set(inbox.messages.map(\.subject)) == ["second", "first"])
            #expect(inbox.messages.map(\.body) == [nil, nil])
            let id = try #require(inbox.messages.last?.id)
            let read = try await emulator.ask("/devices/\(device.id)/inbox/\(id)/read", method: "POST").body
            #expect(read["body"] == "<b>B</b>", "\(read)")
            let later = try await emulator.ask("/devices/\(device.id)/inbox").body
            #expect(later["unread"] == 1)
            let shown = later["messages"]?.array ?? []
            #expect(shown.filter { $0["read"] == true }.map { $0["id"]?.string } == [id])
            #expect(shown.allSatisfy { $0["timestamp"]?.int64 != nil && $0["isRead"] == nil }, "\(later)")
            #expect(await emulator.messages().filter(\.isRead).map(\.id) == [id])
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.readMessage("none", byDevice: device.id)
            }
            #expect(error?.code == .refused)
        }
    }

    // MARK: Push messages

    @Test(arguments: Self.versions) func itIsSentPushMessages(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let version = version.rawValue
            let device = try await emulator.makeDevice(
                userID: "alice",
                version: version,
                push: "fcm",
                rule: .init(.never)
            )
            try await emulator.cloud.createOperation("login", userID: "alice")
            #expect(await emulator.pushes().map(\.activationID) == [device.id])
            // One that waits for the bank's commit registers when it is active.
            let registration = try await emulator.cloud.register(userID: "bob", protocolVersion: version)
            let code = registration.activationCode
            let other = try await emulator.makeDevice(activationCode: code, version: version, push: "apns")
            try await emulator.cloud.commitRegistration(registration.id)
            try await emulator.settle(within: .seconds(60))
            let operation = try await emulator.cloud.createOperation("login", userID: "bob").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
            #expect(await emulator.pushes().contains { $0.activationID == other.id })
        }
    }

    // MARK: Activation by OpenID

    @Test(arguments: Self.versions.filter { $0 != .v3_1 && $0 != .v3_2 })
    func anOpenIDProviderSignsItsUserIn(version: ProtocolVersion) async throws {
        try await withEmulator { emulator in
            let device = #"{"userId":"alice","provider":"emulator","version":"\#(version.rawValue)"}"#
            let made = try await emulator.ask("/devices", method: "POST", body: device)
            #expect(made.status == 200 && made.body["userId"] == "alice", "\(made.body)")
            let operation = try await emulator.cloud.createOperation("login", userID: "alice").id
            #expect(await emulator.decision(on: operation)?.status == .approved)
            let error = await #expect(throws: EmulatorError.self) {
                try await emulator.makeDevice(userID: "bob", provider: "none", version: version.rawValue)
            }
            #expect(error?.code == .refused)
            #expect(await emulator.activations().map(\.userID) == ["alice"])
        }
    }

    @Test func whatItCannotDoIsRefusedByName() async throws {
        try await withEmulator { emulator in
            let id = try await emulator.makeDevice(userID: "alice", rule: .init(.never)).id
            let wrong: [WrongRequest] = [
                ("POST", "/\(id)/claims", "{}", 400, "'operationId' is missing"),
                ("POST", "/\(id)/claims", #"{"operationId":"x"}"#, 409, "INVALID_OPERATION"),
                ("POST", "/none/claims", #"{"operationId":"x"}"#, 404, "There is no such virtual device"),
                ("POST", "/\(id)/offline-codes", #"{"operationQrCodeDat":"x"}"#, 400, "did you mean"),
                ("GET", "/\(id)/inbox?page=1", nil, 400, "'page' is not known here"),
                ("GET", "/none/inbox", nil, 404, "There is no such virtual device"),
                (
                    "POST", "", #"{"activationCode":"x","provider":"emulator"}"#, 400,
                    "'provider' needs 'userId' beside it"
                ),
                ("POST", "", #"{"userId":"x","push":"carrier"}"#, 400, "'push' is none of apns, fcm, hms"),
            ]
            try await emulator.expectRefusals(of: wrong)
        }
    }
}
