import EmulatorBackend
import ExactJSON
@testable import PowerAuth
@testable import PowerAuthClient
import Synchronization
import Testing
import WireFacts

/// Codes for other devices, and what the server's administrator keeps for clients.
@Suite(.wireFact("A10"), .timeLimit(.minutes(5))) struct TransferTests {
    @Test(.wireFact("3.3"), arguments: [ProtocolVersion.v3_3, .v4_0])
    func anotherDeviceIsActivatedByACodeOfThisOne(version: ProtocolVersion) async throws {
        let fixture = try Fixture(version: version)
        fixture.server.changeRules { $0.transfersActivations = true }
        let activation = try await fixture.activate()
        let code = try await activation.transferCode(
            applicationID: fixture.server.applicationID,
            otp: "8401773384017733",
            with: Fixture.twoFactors
        )
        #expect(code.qrCodeContent.hasPrefix(code.activationCode + "#"))
        #expect(!"\(code)".contains(code.activationCode))
        // With its signature, which the client checks.
        var request = try ActivationRequest(code: code.qrCodeContent)
        (request.name, request.otp) = ("other", "8401773384017733")
        let other = try await fixture.client.activate(request, password: Fixture.secret).activation
        #expect(other.activationID == code.activationID)
    }

    @Test func aServerThatMakesNoCodeSaysSo() async throws {
        let activation = try await Fixture(version: .v4_0).activate()
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.transferCode(
                applicationID: "none",
                otp: "8401-7733-2915-06",
                with: Fixture.twoFactors
            )
        }
        #expect(error?.code == .activationCodeFailed)
    }

    /// Servers 1.9 answer `ACTIVATION_CODE_FAILED` (recordings, mobile: `activation code short otp`, `activation code blank otp`).
    @Test(arguments: ["", "123456789012345", "                    ", "1234567890123456\0"])
    func aPasswordThatServersRefuseIsNotSent(otp: String) async throws {
        let (fixture, activation) = try await Fixture().activatedInVersion3
        let error = await #expect(throws: MobileTokenError.self) {
            _ = try await activation.transferCode(applicationID: "a", otp: otp, with: Fixture.twoFactors)
        }
        #expect(error?.code == .invalidRequest && error?.message.hasPrefix("otp: ") == true)
        #expect(fixture.server.requestCount("/activation/code") == 0)
    }

    /// Servers 1.9 answer a bare `ERR_ACTIVATION` (recordings, core: `create deviceInfo 4000`, `create extras 4001`, `create platform 256`,
    /// `create deviceInfo nul`, `create extras nul`).
    @Test(arguments: [255, 256, 4_000, 4_001]) func textsThatServersCannotKeepAreNotSent(count: Int) async throws {
        let fixture = try Fixture()
        let texts: [(String, WritableKeyPath<ActivationRequest, String>, Int)] = [
            ("platform", \.platform, 255), ("deviceInfo", \.deviceInfo, 255), ("extras", \.keptExtras, 4_000),
        ]
        for (name, path, limit) in texts {
            for text in [String(repeating: "😀", count: count), "a\0b"] {
                let isGood = count <= limit && !text.contains("\0")
                var request = try ActivationRequest(code: fixture.server.makeCode())
                request[keyPath: path] = text
                let before = fixture.server.state.withLock { $0.requests.count }
                do {
                    _ = try await fixture.client.activate(request, password: Fixture.secret)
                    #expect(isGood)
                } catch {
                    #expect(!isGood && (error as? MobileTokenError)?.code == .invalidRequest)
                    #expect((error as? MobileTokenError)?.message.hasPrefix("\(name): ") == true)
                    #expect(fixture.server.state.withLock { $0.requests.count } == before)
                }
            }
        }
    }

    @Test(.wireFact("3.1")) func theServersConfigurationIsRead() async throws {
        let fixture = try Fixture(version: .v4_0)
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
        let (fixture, activation) = try await Fixture().activatedInVersion3
        let errors = [
            await #expect(throws: MobileTokenError.self) { try await fixture.client.serverConfiguration() },
            await #expect(throws: MobileTokenError.self) { try await activation.serverConfiguration() },
        ]
        #expect(errors.allSatisfy { $0?.code == .notSupported })
    }
}

extension ActivationRequest {
    fileprivate var keptExtras: String {
        get { self.extras ?? "" }
        set { self.extras = newValue }
    }
}
