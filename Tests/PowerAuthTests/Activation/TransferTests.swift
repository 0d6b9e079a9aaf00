import ExactJSON
@testable import PowerAuth
import PowerAuthProtocol
import Testing
import WireFacts

/// Codes for other devices, and what the server's administrator keeps for clients.
@Suite(.wireFact("A10"), .timeLimit(.minutes(4))) struct TransferTests {
    @Test(.wireFact("3.3"), arguments: [ProtocolVersion.v3_3, .v4_0])
    func anotherDeviceIsActivatedByACodeOfThisOne(version: ProtocolVersion) async throws {
        let fixture = try Version4Fixture(version: version)
        let activation =
            version.isVersion3 ? try await fixture.activateInVersion3() : try await fixture.activate()
        let code = try await activation.transferCode(
            applicationID: fixture.server.applicationID,
            otp: "84017733",
            with: Version4Fixture.twoFactors
        )
        #expect(code.qrCodeContent.hasPrefix(code.activationCode + "#"))
        #expect(!"\(code)".contains(code.activationCode))
        // With its signature, which the client checks.
        var request = try ActivationRequest(code: code.qrCodeContent)
        (request.name, request.otp) = ("other", "84017733")
        let other = try await fixture.client.activate(request, password: Version4Fixture.password).activation
        #expect(other.activationID == code.activationID)
    }

    @Test func aServerThatMakesNoCodeSaysSo() async throws {
        let fixture = try Version4Fixture()
        let activation = try await fixture.activate()
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.transferCode(applicationID: "none", otp: "1", with: Version4Fixture.twoFactors)
        }
        #expect(error?.code == .activationCodeFailed)
    }

    @Test(.wireFact("3.1")) func theServersConfigurationIsRead() async throws {
        let fixture = try Version4Fixture()
        try fixture.server.setConfiguration([
            ["key": "limit", "value": ["amount": 5], "scope": "APPLICATION"],
            ["key": "secret", "value": "s", "scope": "ACTIVATION"],
        ])
        let limit = MobileTokenClient.ServerConfigurationEntry(key: "limit", value: ["amount": 5], scope: .application)
        let secret = MobileTokenClient.ServerConfigurationEntry(key: "secret", value: "s", scope: .activation)
        #expect(try await fixture.client.serverConfiguration() == [limit])
        let activation = try await fixture.activate()
        #expect(try await activation.serverConfiguration() == [limit, secret])
    }

    @Test func version3HasNoConfiguration() async throws {
        let fixture = try Version4Fixture(version: .v3_3)
        let activation = try await fixture.activateInVersion3()
        let errors = [
            await #expect(throws: MobileTokenError.self) { try await fixture.client.serverConfiguration() },
            await #expect(throws: MobileTokenError.self) { try await activation.serverConfiguration() },
        ]
        #expect(errors.allSatisfy { $0?.code == .notSupported })
    }
}
