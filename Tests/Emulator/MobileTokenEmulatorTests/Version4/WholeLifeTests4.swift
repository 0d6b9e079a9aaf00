import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The life of an activation of version 4, in every suite that this process has.
@Suite struct WholeLifeTests4 {
    @Test(arguments: AlgorithmSuite.available)
    func aDeviceActivatesDecidesAndIsRemoved(suite: AlgorithmSuite) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: suite, enableBiometry: true) }
        try device.createToken(in: &fixture)
        let payment = try fixture.operation("payment")
        let login = try fixture.operation("login")

        let listed = try device.sendToken(to: "/api/auth/token/app/operation/list", in: &fixture)
        #expect(listed.object.array?.compactMap { $0["id"]?.string } == [login.id, payment.id])
        let approved = try device.authorize(payment, .possessionBiometry, in: &fixture)
        #expect(approved.outcome == "200 OK", "\(approved.verdict)")
        let rejected = try device.reject(login.id, in: &fixture)
        #expect(rejected.outcome == "200 OK")
        #expect(fixture.status(ofOperation: payment.id) == .approved)
        #expect(fixture.status(ofOperation: login.id) == .rejected)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")

        let (blob, blockExpires) = try device.status(in: &fixture)
        #expect(blob.state == .active && blob.currentVersion == 4 && blob.flags == .biometryIsOn)
        #expect(blockExpires == nil)
        let synchronization = try CounterSynchronization(
            client: device.counter,
            status: blob,
            key: #require(device.keys).utility.counterHash
        )
        #expect(synchronization.outcome == .inSync && synchronization.distance == 0)

        #expect(try device.send(.activationRemove, in: &fixture).object["activationId"]?.string == device.activationID)
        #expect(fixture.status(ofActivation: device.activationID) == .removed)
        #expect(try device.sendToken(to: "/api/inbox/count", in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        // A removed activation can still read that it is.
        device.forgetTemporaryKeys()
        #expect(try device.status(in: &fixture).blob.state == .removed)
    }

    @Test(arguments: AlgorithmSuite.available)
    func bothSidesShowTheSameFingerprint(suite: AlgorithmSuite) throws {
        var (fixture, device) = try BackendFixture.with { try $0.pendingDevice4(suite: suite) }
        let fingerprint = Version4.ActivationFingerprint(
            devicePublicKeys: try #require(device.privateKeys).publicKeys,
            activationID: device.activationID,
            serverPublicKeys: try #require(device.serverKeys)
        )
        let shown = fixture.cloud("GET", "/v2/registrations/\(device.activationID)").json
        #expect(shown["activationFingerprint"]?.string == fingerprint.digits)
        #expect(shown["protocolVersion"]?.string == "4.0")
        #expect(shown["algorithm"]?.string == suite.rawValue)
        let summary = try #require(fixture.backend.activation(device.activationID))
        #expect(summary.version == "4.0" && summary.suite == suite)
        #expect(summary.statusFlags == ["AWAITS_CONFIRMATION"])
    }

    @Test func theConfirmationMayComeBeforeTheCommitOrAfterIt() throws {
        for commitsFirst in [true, false] {
            var (fixture, device) = try BackendFixture.with { try $0.pendingDevice4() }
            let commit = "/v2/registrations/\(device.activationID)/commit"
            #expect(try device.status(in: &fixture).blob.flags == .awaitsConfirmation)
            if commitsFirst {
                #expect(fixture.cloud("POST", commit, [:]).status == 200)
                let blob = try device.status(in: &fixture).blob
                #expect(blob.state == .active && blob.flags == .awaitsConfirmation)
                #expect(try device.confirm(in: &fixture).outcome == "200 OK")
            } else {
                #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
                #expect(try device.confirm(in: &fixture).outcome == "200 OK")
                let blob = try device.status(in: &fixture).blob
                #expect(blob.state == .pendingCommit && blob.flags == [])
                #expect(fixture.cloud("POST", commit, [:]).status == 200)
            }
            #expect(try device.status(in: &fixture).blob.state == .active)
            #expect(try device.validate(in: &fixture).outcome == "200 OK")
            #expect(try device.confirm(in: &fixture).outcome == "400 ERR_ACTIVATION")
        }
    }

    @Test(.wireFact("B31")) func whatTheServerSaysOfItselfNamesTheSuites() throws {
        var fixture = try BackendFixture()
        let path = Version4.Endpoint.serverStatus.path
        let plain = fixture.send(path, json: [:]).object
        #expect(plain["serverTime"]?.int64 == fixture.milliseconds && plain["supportedAlgorithms"] == nil)
        let key = JSONValue.string(fixture.backend.defaultApplication.key)
        let asked = fixture.send(path, json: ["requestObject": ["applicationKey": key]]).object
        #expect(asked["supportedAlgorithms"] == .strings(AlgorithmSuite.available.map(\.rawValue)))
        #expect(fixture.send(path, json: ["requestObject": ["applicationKey": "AAAA"]]).outcome == "400 ERR_STATUS")
        #expect(fixture.send("POST", path).outcome == "400 ERR_STATUS")
    }

    @Test func theActivationCodeIsSignedForTheVersionThatWasAskedFor() throws {
        var fixture = try BackendFixture()
        let configuration = try SDKConfiguration(parsing: fixture.backend.defaultApplication.sdkConfiguration)
        let masterKey = try #require(configuration.version4MasterPublicKeys).ecdsa
        func scan(_ version: JSONValue?) throws -> ActivationCode {
            var request: JSONObject = ["userId": "alice"]
            request["protocolVersion"] = version
            let made = fixture.cloud("POST", "/v2/registrations", .object(request)).json
            return try ActivationCode(parsing: #require(made["activationQrCodeData"]?.string))
        }
        let (three, four) = (try scan(nil), try scan("4.0"))
        #expect(three.isSigned(by: configuration.masterPublicKey) && !three.isSigned(by: masterKey))
        #expect(four.isSigned(by: masterKey) && !four.isSigned(by: configuration.masterPublicKey))
        let unknown = fixture.cloud("POST", "/v2/registrations", ["userId": "a", "protocolVersion": "5.0"])
        #expect(unknown.outcome == "400 ERROR_REQUEST")
    }

    @Test(.wireFact("A9", "B7")) func theVaultHandsOutEachKeyForItsFactors() throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(enableBiometry: true) }
        let vault = try #require(device.keys).vault
        for identifier in Version4.VaultKeyIdentifier.allCases {
            for type in [SignatureType.possessionKnowledge, .possessionBiometry] {
                let content: JSONValue = ["keyIdentifier": .string(identifier.rawValue), "reason": "TEST_a.b-1"]
                let (reply, key) = try device.sendEncrypted("vault/unlock", type, content, in: &fixture)
                guard identifier != .applicationKnowledge || type == .possessionKnowledge else {
                    #expect(reply.outcome == "400 ERR_SECURE_VAULT" && reply.counterAfter == reply.counterBefore)
                    continue
                }
                let response: Version4.VaultResponse = try #require(key).decode()
                #expect(response.vaultEncryptionKey == vault.key(identifier))
            }
        }
        for content in [
            ["keyIdentifier": "KEK_DEVICE_PRIVATE", "reason": "no"], ["reason": "TEST"],
            ["keyIdentifier": "OTHER", "reason": "TEST"], ["keyIdentifier": "KEK_DEVICE_PRIVATE", "reason": "a b c"],
            ["keyIdentifier": "KEK_DEVICE_PRIVATE", "more": 1],
        ] as [JSONValue] {
            let (reply, _) = try device.sendEncrypted("vault/unlock", .possessionKnowledge, content, in: &fixture)
            #expect(reply.outcome == "400 ERR_SECURE_VAULT" && reply.counterAfter == reply.counterBefore)
        }
        fixture.backend.protocolRules.allowsDeviceKeysWithBiometry = false
        let deviceKey: JSONValue = ["keyIdentifier": "KEK_DEVICE_PRIVATE"]
        for (type, status) in [(SignatureType.possessionBiometry, 400), (.possessionKnowledge, 200)] {
            let (reply, _) = try device.sendEncrypted("vault/unlock", type, deviceKey, in: &fixture)
            #expect(reply.status == status)
        }
        let weak: JSONValue = ["keyIdentifier": "KDK_APP_VAULT_2FA"]
        let (alone, _) = try device.sendEncrypted("vault/unlock", .possession, weak, in: &fixture)
        #expect(alone.outcome == "400 ERR_SECURE_VAULT")
        #expect(try device.sendEncrypted("vault/unlock", .possessionKnowledge, weak, in: &fixture).reply.status == 200)
        _ = fixture.cloud("PUT", "/v2/registrations/\(device.activationID)", ["change": "BLOCK"])
        let (blocked, _) = try device.sendEncrypted("vault/unlock", .possessionKnowledge, weak, in: &fixture)
        #expect(blocked.outcome == "400 ERR_SECURE_VAULT")
    }
}
