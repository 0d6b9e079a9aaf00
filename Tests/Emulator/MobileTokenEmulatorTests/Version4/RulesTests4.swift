import ExactJSON
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The versions and suites that the server accepts, and blocks that end by themselves.
@Suite struct RulesTests4 {
    @Test func aWithdrawnSuiteStaysReadableAndAgreesOnNothing() throws {
        var (fixture, device) = try BackendFixture.active4()
        fixture.backend.protocolRules.allowedSuites = [.p384MLLevel3]
        device.forgetTemporaryKeys()
        #expect(try device.status(in: &fixture).blob.flags == .suiteUnsupported)
        #expect(fixture.backend.activation(device.activationID)?.statusFlags == ["SUITE_UNSUPPORTED"])
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        let request = try JSONValue(encoding: Version4.SharedSecretAgreement(suite: .p384).request)
        let (change, _) = try device.sendEncrypted("password/change", .possessionKnowledge, request, in: &fixture)
        #expect(change.outcome == "400 ERR_PASSWORD_CHANGE")
        let attempt = try device.keyAttempt(.application)
        let reply = fixture.send(Version4.Endpoint.temporaryKey.path, json: attempt.body)
        #expect(reply.outcome == "400 ERR_TEMPORARY_KEY")
        fixture.backend.protocolRules.allowedSuites = []
        #expect(try device.status(in: &fixture).blob.flags == [])
    }

    @Test func temporaryBlocksGrowToAYear() {
        var limits = EmulatorLimits()
        #expect(limits.lengthOfTemporaryBlock(1) == nil)
        limits.temporaryBlock = 300
        #expect([1, 2, 3].map { limits.lengthOfTemporaryBlock($0) } == [300_000, 600_000, 1_200_000])
        #expect(limits.lengthOfTemporaryBlock(.max) == 31_536_000_000)
        limits.temporaryBlockMultiplier = 1
        #expect(limits.lengthOfTemporaryBlock(.max) == 300_000)
    }

    @Test func aTemporaryBlockEndsByItself() throws {
        var (fixture, device) = try BackendFixture.active4()
        let older = try fixture.activeDevice(user: "bob")
        let until = fixture.milliseconds + 60_000
        let events = try fixture.backend.administer(
            .block(activationID: device.activationID, until: until),
            at: fixture.now
        )
        #expect(events.map(\.status) == ["BLOCKED"])
        let blocked = try device.status(in: &fixture)
        #expect(blocked.blob.state == .blocked && blocked.blockExpires == until)
        let shown = fixture.cloud("GET", "/v2/registrations/\(device.activationID)").json
        #expect(shown["timestampBlockExpire"]?.int64 == until)
        #expect(fixture.backend.nextDeadline.map(\.milliseconds) ?? .max <= until)
        fixture.advance(seconds: 59)
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        fixture.advance(seconds: 1)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(try device.status(in: &fixture).blockExpires == nil)
        #expect(throws: Refusal.self) {
            try fixture.backend.administer(.block(activationID: older.activationID, until: .max), at: fixture.now)
        }
        #expect(throws: Refusal.self) {
            try fixture.backend.administer(.block(activationID: device.activationID, until: 0), at: fixture.now)
        }
        #expect(fixture.status(ofActivation: older.activationID) == .active)
    }

    @Test func anOfflineCodeOfVersionFourIsOfKeyTwo() throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(enableBiometry: true) }
        let operation = try fixture.operation("payment")
        let query = "registrationId=\(device.activationID)"
        let made = fixture.cloud("GET", "/v2/operations/\(operation.id)/offline/qr", query: query).json
        let content = try #require(made["operationQrCodeData"]?.string)
        let keys = try #require(device.keys)
        #expect(Version4.OfflineQRMAC.isValid(code: content, key: keys.utility.personalizedData))
        #expect(content.split(separator: "\n").last?.first == "2")
        let nonce = try #require(made["nonce"]?.string)
        let data = try SignatureData.offline(operation, nonce: nonce)
        func verify(_ keys: [SecretBytes]) throws -> JSONValue {
            let code = try Version4.AuthenticationCode(data, keys: keys, counter: device.counter, secret: .offline)
            device.counter = device.counter.next()
            let request: JSONValue = [
                "otp": .string(code.offline()), "nonce": .string(nonce), "registrationId": .string(device.activationID),
            ]
            return fixture.cloud("POST", "/v2/operations/\(operation.id)/offline/otp", request).json
        }
        let wrong = SecretBytes(copying: [UInt8](repeating: 7, count: 32))
        let refused = try verify([keys.possession, wrong])
        #expect(refused["otpValid"]?.bool == false && refused["remainingAttempts"]?.int64 == 4)
        let accepted = try verify([keys.possession, #require(device.knowledge)])
        #expect(accepted["otpValid"]?.bool == true && accepted["signatureType"]?.string == "POSSESSION_KNOWLEDGE")
        #expect(fixture.status(ofOperation: operation.id) == .approved)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
    }

    @Test func anOfflineCodeForAnyDeviceIsSignedForTheVersionThatWasAskedFor() throws {
        var fixture = try BackendFixture()
        let configuration = try SDKConfiguration(parsing: fixture.backend.defaultApplication.sdkConfiguration)
        let operation = try fixture.operation("payment")
        func scan(_ query: String) throws -> (signed: [UInt8], signature: [UInt8]) {
            let path = "/v2/operations/\(operation.id)/offline/qr"
            let content = try #require(fixture.cloud("GET", path, query: query).json["operationQrCodeData"]?.string)
            let last = try #require(content.utf8.lastIndex(of: UInt8(ascii: "\n")))
            let digit = content.utf8.index(last, offsetBy: 2)
            let signature = try #require(Base64.decode(String(decoding: content.utf8[digit...], as: UTF8.self)))
            return (Array(content.utf8[..<digit]), signature)
        }
        let (three, four) = (try scan(""), try scan("protocolVersion=4.0"))
        #expect(configuration.masterPublicKey.isValid(derSignature: three.signature, for: three.signed))
        let masterKey = try #require(configuration.version4MasterPublicKeys).ecdsa
        #expect(masterKey.isValid(derSignature: four.signature, for: four.signed))
    }

    @Test(arguments: AlgorithmSuite.available)
    func theStateIsExportedAndImported(suite: AlgorithmSuite) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: suite, enableBiometry: true) }
        try device.createToken(in: &fixture)
        let pending = try device.agree("password/change", in: &fixture)
        let document = try fixture.backend.exported()
        try fixture.replace(with: document)
        #expect(try fixture.backend.exported() == document)
        let state = fixture.backend.state
        let records = try state.keys.compactMap { try state.record($0) }
        let shuffled = try BackendState(records: records.shuffled())
        let restored = try Backend(state: shuffled, BackendFixture.configuration.backend)
        #expect(try restored.exported() == document)
        fixture.backend = restored
        #expect(try device.sendToken(to: "/api/inbox/count", in: &fixture).outcome == "200 OK")
        device.knowledge = pending
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        device.biometry = device.keys?.biometry
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "200 OK")
        #expect(try device.status(in: &fixture).blob.flags == .biometryIsOn)
    }

    @Test func aDocumentFromBeforeVersionFourIsRead() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let document = try JSONValue(parsing: fixture.backend.exported())
        // The export of an activation of version 3 is as it always was.
        let activation = try #require(document["state"]?["activations"]?.array?.first?["device"]?.object)
        #expect(
            activation.keys.sorted() == ["counter", "counterData", "devicePublicKey", "serverPrivateKey", "version"]
        )
        let token = try #require(document["state"]?["tokens"]?.object?.members.first?.value.object)
        #expect(token.keys.sorted() == ["activationID", "created", "factors", "id", "secret"])
        let application = try #require(document["state"]?["applications"]?.object?.members.first?.value.object)
        #expect(application.keys.sorted() == ["id", "key", "masterPrivateKey", "secret"])
        let configuration = fixture.backend.defaultApplication.sdkConfiguration
        try fixture.replace(with: document.serialized())
        #expect(fixture.backend.defaultApplication.sdkConfiguration == configuration)
        #expect(device.operations(in: &fixture).isEmpty)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
    }
}
