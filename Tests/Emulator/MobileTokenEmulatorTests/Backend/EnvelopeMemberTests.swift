import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing
import WireFacts

@testable import EmulatorBackend

/// The members of an envelope that the standard calls look for before they open it, by the version in the header.
@Suite(.wireFact("4.1", "4.2", "3.2")) struct EnvelopeMemberTests {
    struct StandardCall: Sendable, CustomTestStringConvertible {
        let version: MajorVersion
        let name: String
        /// The refusal of an envelope that has all members and does not open.
        let broken: String
        /// Indicates whether the code is judged before the envelope is looked at.
        var costsStep = true

        var testDescription: String { "\(self.name) of version \(self.version.rawValue)" }

        static let all =
            MajorVersion.allCases.flatMap { version in
                [
                    Self(version: version, name: "token/create", broken: "401 ERR_AUTHENTICATION"),
                    Self(version: version, name: "vault/unlock", broken: "400 ERR_SECURE_VAULT", costsStep: false),
                ]
            } + [
                Self(version: .version4, name: "password/change", broken: "400 ERR_PASSWORD_CHANGE"),
                Self(version: .version4, name: "biometry/add", broken: "400 ERR_BIOMETRY"),
            ]
    }

    @Test(arguments: StandardCall.all) func anEnvelopeThatLacksAMemberIsTold(call: StandardCall) throws {
        var (fixture, device) = try BackendFixture.active(call.version)
        func send(_ change: (inout JSONObject) -> Void) throws -> Reply {
            try device.sendEncrypted(call.name, in: &fixture, changing: change).reply
        }
        for member in ["nonce", "timestamp", "temporaryKeyId"] {
            for value in [nil, .null] as [JSONValue?] {
                let reply = try send { $0[member] = value }
                #expect(reply.outcome == "401 ERR_AUTHENTICATION", "\(member): \(reply.verdict)")
                #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID", "\(member)")
                #expect(reply.counterAfter == reply.counterBefore.map { $0 + (call.costsStep ? 1 : 0) })
            }
        }
        let broken = try send { $0["encryptedData"] = "AAAA" }
        #expect(broken.outcome == call.broken)
        #expect(broken.counterAfter == broken.counterBefore.map { $0 + (call.costsStep ? 1 : 0) })
    }

    /// Nothing is missed for which an older envelope has no member.
    @Test(arguments: [(ProtocolVersion.v3_1, ["nonce"]), (.v3_2, ["nonce", "timestamp"])])
    func anOlderEnvelopeIsAskedForWhatItHas(version: ProtocolVersion, members: [String]) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(version: version) }
        for member in ["nonce", "timestamp", "temporaryKeyId"] {
            let (reply, _) = try device.sendEncrypted("token/create", in: &fixture) { $0[member] = nil }
            if members.contains(member) {
                #expect(reply.outcome == "401 ERR_AUTHENTICATION", "\(member)")
            } else {
                #expect(reply.status == 200, "\(member): \(reply.verdict)")
            }
        }
    }

    /// A code of the other version is refused before anything is opened.
    @Test func aVaultIsOfItsVersion() throws {
        var fixture = try BackendFixture()
        for (version, path) in [(MajorVersion.version3, "/pa/v4/vault/unlock"), (.version4, "/pa/v3/vault/unlock")] {
            var device = try fixture.device(version)
            let purpose = "/pa/vault/unlock"
            let (reply, _) = try device.encryptThenSign(path, uriID: purpose, purpose: purpose, in: &fixture)
            #expect(reply.object["message"] == "POWER_AUTH_CODE_INVALID", "\(reply.verdict)")
            #expect(reply.counterAfter == reply.counterBefore)
        }
    }
}

/// The codes and messages of refusals, as the integration library publishes them.
@Suite(.wireFact("4.1")) struct RefusalMessageTests {
    @Test(
        arguments: [
            (Refusal.activation, 400, "ERR_ACTIVATION", "POWER_AUTH_ACTIVATION_INVALID"),
            (Refusal.encryption, 400, "ERR_ENCRYPTION", "POWER_AUTH_ENCRYPTION_FAILED"),
            (Refusal.vault, 400, "ERR_SECURE_VAULT", "POWER_AUTH_SECURE_VAULT_INVALID"),
            (Refusal.upgrade, 400, "ERR_UPGRADE", "POWER_AUTH_UPGRADE_FAILED"),
            (Refusal.temporaryKey, 400, "ERR_TEMPORARY_KEY", "POWER_AUTH_TEMPORARY_KEY_FAILURE"),
            (Refusal.passwordChange, 400, "ERR_PASSWORD_CHANGE", "POWER_AUTH_PASSWORD_CHANGE_FAILURE"),
            (Refusal.biometry, 400, "ERR_BIOMETRY", "POWER_AUTH_BIOMETRY_FAILURE"),
            (Refusal.configuration, 400, "ERR_CONFIG", "POWER_AUTH_CONFIG_ERROR"),
            (Refusal.serverStatus, 400, "ERR_STATUS", "POWER_AUTH_STATUS_ERROR"),
            (Refusal.recovery, 400, "INVALID_RECOVERY_CODE", "POWER_AUTH_RECOVERY_INVALID"),
            (Refusal.authentication, 401, "ERR_AUTHENTICATION", "POWER_AUTH_CODE_INVALID"),
        ] as [(@Sendable (String) -> Refusal, Int, String, String)]
    )
    func whatIsRefusedIsToldInTheWordsOfRealServers(
        refusal: @Sendable (String) -> Refusal,
        status: Int,
        code: String,
        message: String
    ) {
        let refusal = refusal("the reason is for the journal")
        #expect(refusal.status == status && refusal.code == code && refusal.message == message)
    }

    /// Rows `token/create envelope replayed under a new code 3.1` and `vault/unlock envelope replayed under a new code 3.0`: a length shows that
    /// the server behind writes its answers with indentation.
    @Test(.wireFact("2.2"), arguments: [("token/create", 112), ("vault/unlock", 96)])
    func theAnswerOfAStandardCallIsIndented(name: String, count: Int) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(version: .v3_1) }
        let (reply, _) = try device.sendEncrypted(name, in: &fixture)
        #expect(reply.json["encryptedData"]?.string.flatMap(Base64.decode(_:))?.count == count, "\(reply.outcome)")
    }
}
