import Foundation
import HTTPClientTransport
import MobileTokenEmulator
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@testable import PowerAuth

/// The client against the development server, over real sockets.
@Suite(.timeLimit(.minutes(5))) struct EmulatorTests {
    /// An emulator, a transport and a client, for the length of one test.
    private func withClient(
        version: ProtocolVersion = .v3_3,
        _ body: (Emulator, MobileTokenClient, Activation) async throws -> Void
    ) async throws {
        let emulator = try await Emulator.start()
        let transport = try CurlTransport()
        do {
            var configuration = MobileTokenClient.Configuration()
            configuration.transport = transport
            configuration.store = ActivationStore.inMemory()
            configuration.version = version
            let client = try MobileTokenClient(
                baseURL: emulator.baseURL,
                sdkConfiguration: emulator.sdkConfiguration,
                configuration: configuration
            )
            let registration = try await Self.control(emulator, transport, "", ["userId": "ada", "flags": []])
            let code = try #require(registration["activationQrCodeData"]?.string)
            let activation = try await client.activate(code: code, name: "bot", password: Fixture.password)
            #expect(try await activation.status().state == .pendingCommit)
            let id = try #require(registration["registrationId"]?.string)
            _ = try await Self.control(emulator, transport, "/\(id)/commit", ["externalUserId": "ada"])
            try await body(emulator, client, activation)
        } catch {
            Issue.record(error)
        }
        await transport.shutdown()
        await emulator.stop()
    }

    private static func control(
        _ emulator: Emulator,
        _ transport: CurlTransport,
        _ path: String,
        _ body: JSONValue
    ) async throws -> JSONValue {
        let credentials = Base64.encode(Array("\(emulator.cloudUser):\(emulator.cloudPassword)".utf8))
        let response = try await transport.send(
            HTTPRequest(
                url: "\(emulator.cloudURL)/v2/registrations\(path)",
                headers: ["Authorization": "Basic \(credentials)", "Content-Type": "application/json"],
                body: body.serialized()
            )
        )
        try #require(response.status == 200, "cloud API: \(response.status)")
        return response.body.isEmpty ? .null : try JSONValue(parsing: response.body)
    }

    private let password = SecretBytes(utf8: Fixture.password)

    @Test(arguments: ProtocolVersion.version3) func everyCallWorksInEveryVersion(version: ProtocolVersion) async throws
    {
        try await self.withClient(version: version) { emulator, client, activation in
            let factors = Authentication.possessionAndKnowledge(password: self.password)
            #expect(try await activation.status().state == .active)
            try await activation.validate(factors)
            try await activation.requestToken("possession_universal")
            _ = try await activation.post(
                "/api/auth/token/app/operation/list",
                body: Array("{}".utf8),
                authentication: .universalToken,
                acceptLanguage: "en",
                decision: nil
            )
            _ = try await activation.post(
                "/api/auth/token/app/operation/history",
                body: Array("{}".utf8),
                authentication: .signature(uriID: "/operation/history", factors),
                acceptLanguage: "en",
                decision: nil
            )
            let one = try await activation.deriveDataKey(index: 7, with: factors)
            #expect(one == (try await activation.deriveDataKey(index: 7, with: factors)))
            let key = SecretBytes(copying: Array(0..<16))
            try await activation.addBiometryFactor(key: key, password: self.password)
            try await activation.validate(.possessionAndBiometry(key: key))
            _ = try await activation.userInfo()
            try await activation.changePassword(from: self.password, to: SecretBytes(utf8: "another"))
            try await activation.validate(.possessionAndKnowledge(password: "another"))
            try await activation.removeToken("possession_universal")
            #expect(try await activation.status().counter.distance == 0)
            try await activation.remove(with: .possessionAndKnowledge(password: "another"))
            #expect(try await client.activationIDs() == [])
        }
    }

    @Test func wrongPasswordsCountDownAndBlock() async throws {
        try await self.withClient { emulator, _, activation in
            for remaining in [4, 3, 2, 1] {
                do {
                    try await activation.validate(.possessionAndKnowledge(password: "wrong"))
                    Issue.record("accepted")
                } catch let error as MobileTokenError {
                    #expect(error.code == .authenticationFailed)
                    #expect(error.remainingAttempts == remaining)
                }
            }
            do {
                try await activation.validate(.possessionAndKnowledge(password: "wrong"))
                Issue.record("accepted")
            } catch let error as MobileTokenError {
                #expect(error.code == .activationBlocked)
            }
            try await emulator.unblockActivation(activation.activationID)
            try await activation.validate(.possessionAndKnowledge(password: self.password))
        }
    }

    @Test(arguments: [1, 18, 19] as [UInt64]) func aServerAheadIsFollowed(steps: UInt64) async throws {
        try await self.withClient { emulator, _, activation in
            try await emulator.advanceCounter(ofActivation: activation.activationID, by: steps)
            try await activation.validate(.possessionAndKnowledge(password: self.password))
            #expect(try await activation.status().counter.distance == 0)
        }
    }

    @Test func aHundredSignaturesAtOnceAreAllValid() async throws {
        try await self.withClient { _, _, activation in
            let factor = try await activation.unlockKnowledge(password: self.password)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<100 {
                    group.addTask { try await activation.validate(.possessionAndKnowledge(unlocked: factor)) }
                }
                try await group.waitForAll()
            }
            #expect(try await activation.status().counter.distance == 0)
        }
    }
}
