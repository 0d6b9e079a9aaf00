import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The upgrade of an activation of version 3 to version 4.
@Suite(.wireFact("17")) struct UpgradeTests4 {
    /// A fixture that offers the upgrade, and a device of version 3.3 with a token.
    private static func offered() throws -> (BackendFixture, TestDevice) {
        var fixture = try BackendFixture()
        fixture.backend.protocolRules.upgradeOffers = [fixture.backend.defaultApplication.id]
        let device = try fixture.deviceWithToken()
        return (fixture, device)
    }

    /// The device as it is when it upgrades: with the identifier of the old one.
    private static func upgraded(_ device: TestDevice, suite: AlgorithmSuite = .p384) throws -> TestDevice4 {
        var newer = try TestDevice4(application: device.application, suite: suite)
        newer.activationID = device.activationID
        return newer
    }

    @Test(arguments: AlgorithmSuite.available)
    func anActivationIsUpgraded(suite: AlgorithmSuite) throws {
        var (fixture, device) = try Self.offered()
        var newer = try Self.upgraded(device, suite: suite)
        #expect(try device.status(in: &fixture).upgradeVersion == 4)
        #expect(try newer.startUpgrade(of: &device, enableBiometry: true, in: &fixture).status == 200)
        let waiting = try newer.status(in: &fixture).blob
        #expect(waiting.currentVersion == 3 && waiting.upgradeVersion == 4 && waiting.state == .active)
        #expect(waiting.flags == [.upgradeAwaitsConfirmation, .biometryIsOn])
        let summary = try #require(fixture.backend.activation(device.activationID))
        #expect(summary.version == "3.3" && summary.statusFlags.contains("UPGRADE_AWAITS_CONFIRMATION"))
        // Until it is confirmed, it is of version 3.
        #expect(try newer.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(device.sendWithToken("/api/inbox/count", in: &fixture).outcome == "200 OK")

        let confirmed = try newer.send(.upgradeConfirm, .possession, in: &fixture)
        #expect(confirmed.outcome == "200 OK", "\(confirmed.verdict)")
        // A token, the start, and now a code that was refused and one that was not: the number goes on.
        #expect(confirmed.counterBefore == 2 && confirmed.counterAfter == 4)
        let after = try newer.status(in: &fixture).blob
        #expect(after.counterByte == newer.counter.byte && after.counterByte == 4)
        #expect(after.currentVersion == 4 && after.flags == .biometryIsOn)
        newer.biometry = newer.keys?.biometry
        #expect(try newer.validate(in: &fixture).outcome == "200 OK")
        #expect(try newer.validate(.possessionBiometry, in: &fixture).outcome == "200 OK")
        try newer.createToken(in: &fixture)
        #expect(try newer.sendToken(to: "/api/inbox/count", in: &fixture).outcome == "200 OK")
        // Nothing of version 3 is left.
        #expect(device.sendWithToken("/api/inbox/count", in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try newer.send(.upgradeConfirm, .possession, in: &fixture).outcome == "400 ERR_UPGRADE")
    }

    /// Beside it only `CTR_DATA` is new, so what version 3 signs meanwhile shows in the status of version 4.
    @Test(arguments: [0, 253, 300]) func theNumberOfTheCodesGoesOn(steps: Int) throws {
        var (fixture, device) = try Self.offered()
        fixture.backend.state.activations.update(device.activationID) { try? $0.advanceCounter(by: steps) }
        device.counter = device.counter.advanced(by: steps)
        var newer = try Self.upgraded(device)
        #expect(try newer.startUpgrade(of: &device, in: &fixture).status == 200)
        #expect(try newer.status(in: &fixture).blob.counterByte == device.counter.byte)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        let waiting = try newer.status(in: &fixture).blob
        #expect(waiting.counterByte == device.counter.byte)
        #expect(waiting.counterHash == (try newer.counterHash))
        // Starting again replaces the keys, and the number goes on from there.
        var again = try Self.upgraded(device)
        #expect(try again.startUpgrade(of: &device, in: &fixture).status == 200)
        #expect(again.counter.byte == device.counter.byte)
        #expect(try again.status(in: &fixture).blob.counterByte == again.counter.byte)
        #expect(try again.send(.upgradeConfirm, .possession, in: &fixture).outcome == "200 OK")
        let after = try again.status(in: &fixture).blob
        #expect(after.counterByte == again.counter.byte)
        #expect(after.counterHash == (try again.counterHash))
        #expect(fixture.backend.state.activations[device.activationID]?.steps == UInt64(steps) + 5)
    }

    @Test func startingAgainReplacesWhatWasStarted() throws {
        var (fixture, device) = try Self.offered()
        var lost = try Self.upgraded(device)
        #expect(try lost.startUpgrade(of: &device, in: &fixture).status == 200)
        var kept = try Self.upgraded(device)
        #expect(try kept.startUpgrade(of: &device, in: &fixture).status == 200)
        #expect(try lost.send(.upgradeConfirm, .possession, in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try kept.send(.upgradeConfirm, .possession, in: &fixture).outcome == "200 OK")
    }

    @Test func anUpgradeThatIsNotOfferedIsRefused() throws {
        var (fixture, device) = try Self.offered()
        fixture.backend.protocolRules.upgradeOffers = ["another"]
        #expect(try device.status(in: &fixture).upgradeVersion == 3)
        var newer = try Self.upgraded(device)
        #expect(try newer.startUpgrade(of: &device, in: &fixture).outcome == "400 ERR_UPGRADE")
        #expect(fixture.backend.activation(device.activationID)?.statusFlags == [])
        // The signature was right, and has moved the counter.
        #expect(device.operations(in: &fixture).isEmpty)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
    }

    @Test func anUpgradeNeedsThePasswordAndVersionThree() throws {
        var (fixture, device) = try Self.offered()
        var newer = try Self.upgraded(device)
        let state = try fixture.exportedStateBesidesReplays()
        device.wrongKnowledge = SecretBytes(copying: [UInt8](repeating: 1, count: 16))
        #expect(try newer.startUpgrade(of: &device, in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        device.wrongKnowledge = nil
        #expect(fixture.backend.activations[0].failedAttempts == 1)
        #expect(try newer.startUpgrade(of: &device, .possession, in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(
            try newer.startUpgrade(of: &device, .possessionBiometry, in: &fixture).outcome == "401 ERR_AUTHENTICATION"
        )
        #expect(fixture.backend.activation(device.activationID)?.statusFlags == [])
        #expect(try fixture.exportedStateBesidesReplays() != state)  // the counter has moved
        var four = try fixture.activeDevice4(user: "bob")
        let envelope = try four.envelope(.upgradeStart, in: &fixture)
        let code = try four.codeHeader(.possessionKnowledge, uriID: "/pa/upgrade/start", body: envelope.bytes)
        let path = Version4.Endpoint.upgradeStart.path
        #expect(fixture.send(path, envelope, headers: [code]).outcome == "401 ERR_AUTHENTICATION")
        #expect(try four.send(.upgradeConfirm, .possession, in: &fixture).outcome == "400 ERR_UPGRADE")
    }

    /// The code is judged first, so each of these has moved the counter.
    @Test(.wireFact("3.2", "4.1", "4.2")) func whatIsWrongWithTheEnvelopeIsFoundAfterTheCode() throws {
        var (fixture, device) = try Self.offered()
        var newer = try Self.upgraded(device)
        let path = Version4.Endpoint.upgradeStart.path
        func start(
            _ headers: [HeaderField]? = nil,
            changing change: (inout JSONObject) -> Void = { _ in }
        ) throws -> Reply {
            var envelope = try newer.envelope(.upgradeStart, in: &fixture)
            change(&envelope.body)
            let (uriID, body) = ("/pa/upgrade/start", envelope.bytes)
            let signature = try device.codeHeader(.possessionKnowledge, uriID: uriID, body: body)
            return fixture.send("POST", path, headers: (headers ?? [envelope.header]) + [signature], body: body)
        }
        let older = try device.envelope(.genericApplication, in: &fixture).header
        let replies: [(reply: Reply, outcome: String, message: String)] = [
            (try start([]), "400 ERR_UPGRADE", "UPGRADE_FAILED"),
            (try start([older]), "401 ERR_AUTHENTICATION", "CODE_INVALID"),
            (try start { $0["temporaryKeyId"] = nil }, "401 ERR_AUTHENTICATION", "CODE_INVALID"),
            (try start { $0["timestamp"] = .null }, "401 ERR_AUTHENTICATION", "CODE_INVALID"),
            (try start { $0["encryptedData"] = "AAAA" }, "400 ERR_UPGRADE", "UPGRADE_FAILED"),
        ]
        for (reply, outcome, message) in replies {
            #expect(reply.outcome == outcome && reply.object["message"]?.string == "POWER_AUTH_" + message)
            #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 })
        }
        // Both calls read the header of the code themselves.
        let envelope = try newer.envelope(.upgradeStart, in: &fixture)
        let unsigned = fixture.send(path, envelope)
        let unconfirmed = fixture.send(Version4.Endpoint.upgradeConfirm.path, json: [:])
        for reply in [unsigned, unconfirmed] {
            #expect(reply.outcome == "400 ERR_UPGRADE" && reply.counterAfter == reply.counterBefore)
        }
    }

    @Test func anUpgradeSurvivesTheExportInItsMiddle() throws {
        var (fixture, device) = try Self.offered()
        var newer = try Self.upgraded(device)
        #expect(try newer.startUpgrade(of: &device, in: &fixture).status == 200)
        let document = try fixture.backend.exported()
        try fixture.replace(with: document)
        #expect(try fixture.backend.exported() == document)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(try newer.send(.upgradeConfirm, .possession, in: &fixture).outcome == "200 OK")
    }

    @Test func aServerThatDemandsFourLetsVersionThreeReadItsStatusAndUpgrade() throws {
        var (fixture, device) = try Self.offered()
        let stranger = try fixture.activeDevice(user: "bob")
        fixture.backend.protocolRules.minimumVersion = 4
        #expect(device.sendWithToken("/api/inbox/count", in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        let signed = try device.validate(in: &fixture)
        #expect(signed.outcome == "401 ERR_AUTHENTICATION")
        #expect(signed.reason == "the server does not accept version 3.3")
        let key = fixture.send("/pa/v3/keystore/create", json: try stranger.keyRequest())
        #expect(key.outcome == "400 ERR_TEMPORARY_KEY")
        #expect(try stranger.status(in: &fixture).upgradeVersion == 4)
        var newer = try Self.upgraded(device)
        // One signature was made that the server did not look at.
        #expect(try newer.startUpgrade(of: &device, in: &fixture).status == 200)
        #expect(try newer.send(.upgradeConfirm, .possession, in: &fixture).outcome == "200 OK")
        #expect(try newer.validate(in: &fixture).outcome == "200 OK")
    }
}

extension TestDevice4 {
    /// Sends the request that begins the upgrade of `device`, and takes over the keys if it is granted.
    fileprivate mutating func startUpgrade(
        of device: inout TestDevice,
        _ type: SignatureType = .possessionKnowledge,
        enableBiometry: Bool = false,
        in fixture: inout BackendFixture
    ) throws -> Reply {
        let attempt = try KeysAttempt(suite: self.suite)
        var content = try attempt.content
        content["enableBiometry"] = .bool(enableBiometry)
        let envelope = try self.envelope(.upgradeStart, .object(content), in: &fixture)
        let signature = try device.codeHeader(type, uriID: "/pa/upgrade/start", body: envelope.bytes)
        let path = Version4.Endpoint.upgradeStart.path
        let reply = fixture.send(path, envelope, headers: [signature])
        guard let answer = try envelope.answer(in: reply) else { return reply }
        try self.adopt(attempt, answer.decode())
        self.counter = Version4.HashCounter(data: self.counter.data, byte: device.counter.byte)
        return reply
    }

    /// The hash of the counter as a status shows it.
    fileprivate var counterHash: [UInt8] {
        get throws { try self.counter.hash(key: #require(self.keys).utility.counterHash) }
    }
}
