import ExactJSON
import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenNotifications
import MobileTokenTesting
import PowerAuth
import Testing
import WireFacts
import TestSupport

/// Requests of the SDK that come a second time, changed, or too late: refused, and the server's state is as it was.
@Suite(.timeLimit(.minutes(5))) struct ReplayTests {
    /// A kind of request, how to make one, and how a copy of it is refused.
    struct Kind: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let path: String
        let refusal: String
        let make: @Sendable (Device) async throws -> Void

        init(_ path: String, _ refusal: String, _ make: @escaping @Sendable (Device) async throws -> Void) {
            self.testDescription = path
            self.path = path
            self.refusal = refusal
            self.make = make
        }
    }

    struct Device: Sendable {
        let emulator: Emulator
        let client: MobileTokenClient
        let activation: Activation
        let service: OperationsService
    }

    static let kinds = [
        Kind("/operation/list", "POWERAUTH_AUTH_FAIL") { try await $0.service.operations() },
        Kind("/operation/cancel", "POWERAUTH_AUTH_FAIL") { device in
            let operation = try await device.emulator.offer(to: "alice", on: device.service)
            try await device.service.reject(operation)
        },
        Kind("/api/inbox/count", "ERR_AUTHENTICATION") {
            _ = try await $0.client.makeInboxService(for: $0.activation).unreadCount()
        },
        Kind("/device/register/token", "ERR_AUTHENTICATION") {
            try await $0.client.makePushService(for: $0.activation).register(token: "x", for: .hms)
        },
        Kind("/token/create", "ERR_AUTHENTICATION") { try await $0.activation.requestToken("another") },
        Kind("/user/info", "ERR_ENCRYPTION") { _ = try await $0.activation.userInfo() },
        Kind("/signature/validate", "ERR_AUTHENTICATION") { try await $0.activation.validate(.possession) },
        Kind("/vault/unlock", "ERR_SECURE_VAULT") {
            _ = try await $0.activation.deriveDataKey(index: 1, with: .twoFactors)
        },
        Kind("/activation/create", "ERR_ACTIVATION") {
            _ = try await $0.emulator.makeActivation(user: "bob", password: password, client: $0.client)
        },
    ]

    @Test(arguments: Self.kinds) func aRequestIsTakenOnce(kind: Kind) async throws {
        let recorder = Recorder()
        try await withDevice(recorder.transport()) { device in
            try await kind.make(device)
            let request = try #require(recorder.last(to: kind.path))
            try await expectRefusal(kind.refusal, of: request, by: device.emulator)
            try await device.activation.validate(.twoFactors)
        }
    }

    /// The original never arrived, so it is the change alone that is refused.
    @Test(.wireFact("4.2", "B29"), arguments: Self.kinds) func aChangedRequestIsRefused(kind: Kind) async throws {
        let (recorder, isHolding) = (Recorder(), Shared(true))
        let transport = try recorder.transport { isHolding.value && $0.url.hasSuffix(kind.path) }
        try await withDevice(transport) { device in
            await #expect(throws: MobileTokenError.self) { try await kind.make(device) }
            let original = try #require(recorder.last(to: kind.path))
            var changed = original
            if changed.isToken {
                // A token vouches for the sender, not for the body.
                changed.changeHeader("X-PowerAuth-Token", "token_digest")
            } else if changed.isEncrypted {
                changed.changeMember("mac")
            } else {
                changed.body?.append(0x20)
            }
            // The code of a request for a token covers its envelope, and is judged before it.
            if changed.isToken || changed.isEncrypted && kind.path != "/token/create" {
                // Its nonce is used up even so, as real servers have it: the original comes too late.
                try await expectAnswer(kind.refusal, to: changed)
                try await expectAnswer(kind.refusal, to: original)
            } else {
                try await expectRefusal(kind.refusal, of: changed, by: device.emulator)
                let response = try await CurlTransport().send(original)
                #expect(response.status == 200)
            }
            isHolding.value = false
            try await device.activation.validate(.twoFactors)
        }
    }

    @Test func aSignatureOfAnotherRequestIsRefused() async throws {
        let recorder = Recorder()
        let transport = try recorder.transport { $0.url.hasSuffix("/operation/cancel") }
        try await withDevice(transport) { device in
            let operation = try await device.emulator.offer("login_1FA", to: "alice", on: device.service)
            await #expect(throws: MobileTokenError.self) { try await device.service.reject(operation) }
            // A rejection's signature under a path that would approve.
            var request = try #require(recorder.last(to: "/operation/cancel"))
            request.url = request.url.replacing("/operation/cancel", with: "/operation/authorize")
            try await expectAnswer("POWERAUTH_AUTH_FAIL", to: request)
            #expect(try await device.emulator.status(of: operation) == .pending)
        }
    }

    @Test func aReplayedSignatureOfTwoFactorsTakesAnAttemptAndNothingElse() async throws {
        let recorder = Recorder()
        try await withDevice(recorder.transport()) { device in
            let operation = try await device.emulator.offer(to: "alice", on: device.service)
            try await device.service.authorize(operation, with: .twoFactors)
            let before = try #require(await device.emulator.summary(of: device.activation))
            // The code counts as wrong, but there is nothing left to decide, and that is what real servers say.
            try await expectAnswer("INVALID_OPERATION", to: try #require(recorder.last(to: "/operation/authorize")))
            let after = try #require(await device.emulator.summary(of: device.activation))
            #expect(after.failedAttempts == 1 && after.counter == before.counter && after.status == before.status)
        }
    }

    @Test func aTokenRequestThatIsTwoHoursOldIsRefused() async throws {
        let recorder = Recorder()
        let isHolding = Shared(false)
        let transport = try recorder.transport { isHolding.value && $0.isToken }
        try await withDevice(transport) { device in
            try await device.service.operations()
            isHolding.value = true
            await #expect(throws: MobileTokenError.self) { try await device.service.operations() }
            let request = try #require(recorder.last(to: "/operation/list"))
            // A minute more, for the client's clock runs while the server's stands.
            await device.emulator.clock.advance(by: .seconds(7200 + 60))
            try await expectRefusal("POWERAUTH_AUTH_FAIL", of: request, by: device.emulator)
        }
    }

    @Test func anEncryptedRequestWhoseKeyIsOverIsRefused() async throws {
        let recorder = Recorder()
        let transport = try recorder.transport { $0.url.hasSuffix("/user/info") }
        try await withDevice(transport) { device in
            await #expect(throws: MobileTokenError.self) { try await device.activation.userInfo() }
            let request = try #require(recorder.last(to: "/user/info"))
            await device.emulator.clock.advance(by: .seconds(301))
            try await expectRefusal("ERR_ENCRYPTION", of: request, by: device.emulator)
        }
    }

    @Test func aSignedRequestThatALaterOneOvertookIsRefused() async throws {
        let recorder = Recorder()
        let isHolding = Shared(true)
        let transport = try recorder.transport { isHolding.value && $0.isSigned }
        try await withDevice(transport) { device in
            await #expect(throws: MobileTokenError.self) { try await device.activation.validate(.possession) }
            let request = try #require(recorder.last(to: "/signature/validate"))
            isHolding.value = false
            try await device.activation.validate(.possession)
            try await expectRefusal("ERR_AUTHENTICATION", of: request, by: device.emulator)
        }
    }

    // MARK: -

    private func expectRefusal(_ code: String, of request: HTTPRequest, by emulator: Emulator) async throws {
        let before = try await emulator.exported()
        try await self.expectAnswer(code, to: request)
        #expect(try await emulator.exported() == before)
    }

    private func expectAnswer(_ code: String, to request: HTTPRequest) async throws {
        let response = try await CurlTransport().send(request)
        let answer = try JSONValue(parsing: response.body)
        #expect(answer["responseObject"]?["code"] == .string(code))
        #expect(response.status == (code.contains("AUTH") ? 401 : 400))
    }

    private func withDevice(
        _ transport: InterceptingTransport,
        _ body: (Device) async throws -> Void
    ) async throws {
        try await withEmulator { emulator in
            await emulator.clock.freeze()
            // Made with another transport, for the test's may hold back what an activation needs.
            let store = ActivationStore.inMemory()
            let id = try await emulator.makeActivation(
                user: "alice",
                password: password,
                client: try emulator.makeClient { $0.store = store }
            ).activationID
            let client = try emulator.makeClient {
                $0.store = store
                $0.transport = transport
            }
            let activation = try await client.activation(id: id)
            let service = client.makeOperationsService(for: activation)
            try await body(Device(emulator: emulator, client: client, activation: activation, service: service))
        }
    }
}

extension HTTPRequest {
    fileprivate var isToken: Bool { self.headers["X-PowerAuth-Token"] != nil }

    fileprivate var isEncrypted: Bool {
        ((try? JSONValue(parsing: self.body ?? []))?["ephemeralPublicKey"]) != nil
    }

    /// Changes the first character of a value in a header of the form `name="value"`.
    fileprivate mutating func changeHeader(_ header: String, _ name: String) {
        let text = self.headers[header] ?? ""
        self.headers[header] = Self.changed(text, after: "\(name)=\"")
    }

    /// Changes the first character of a text in the body, which is JSON.
    fileprivate mutating func changeMember(_ name: String) {
        let text = String(decoding: self.body ?? [], as: UTF8.self)
        self.body = Array(Self.changed(text, after: "\"\(name)\":\"").utf8)
    }

    private static func changed(_ text: String, after prefix: String) -> String {
        guard let start = text.range(of: prefix)?.upperBound else { return text }
        var text = text
        text.replaceSubrange(start...start, with: text[start] == "A" ? "B" : "A")
        return text
    }
}
