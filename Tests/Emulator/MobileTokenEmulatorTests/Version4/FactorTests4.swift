import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// Keys of password and biometry that are replaced: the old and the new one work until one of them is used.
@Suite struct FactorTests4 {
    @Test(arguments: AlgorithmSuite.available)
    func bothPasswordsWorkUntilTheNewOneIsUsed(suite: AlgorithmSuite) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: suite) }
        let old = device.knowledge
        let new = try device.agree("password/change", in: &fixture)
        #expect(new != old)
        device.knowledge = new
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        device.knowledge = old
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        device.knowledge = new
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
    }

    @Test func theOldPasswordDropsTheNewOne() throws {
        var (fixture, device) = try BackendFixture.active4()
        let old = device.knowledge
        let lost = try device.agree("password/change", in: &fixture)
        #expect(try device.validate(.possession, in: &fixture).outcome == "200 OK")  // says nothing about the password
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        device.knowledge = lost
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        device.knowledge = old
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
    }

    @Test func aPendingPasswordIsFoundWhereverTheCounterIs() throws {
        var (fixture, device) = try BackendFixture.active4()
        device.knowledge = try device.agree("password/change", in: &fixture)
        device.counter = device.counter.advanced(by: 19)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        _ = try device.agree("password/change", in: &fixture)
        device.isMistyping = true
        #expect(try device.validate(in: &fixture).reason?.contains("with the current key and pending key") == true)
    }

    /// A password change in which the new key authenticates the next change.
    @Test func aPendingPasswordMayAuthenticateTheNextChange() throws {
        var (fixture, device) = try BackendFixture.active4()
        let first = device.knowledge
        device.knowledge = try device.agree("password/change", in: &fixture)
        let second = device.knowledge
        let third = try device.agree("password/change", in: &fixture)
        device.knowledge = first
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        device.knowledge = third
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        device.knowledge = second
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
    }

    @Test(arguments: AlgorithmSuite.available)
    func biometryIsAddedReplacedAndRemoved(suite: AlgorithmSuite) throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: suite) }
        let first = try device.agree("biometry/add", in: &fixture)
        device.biometry = first
        #expect(try device.status(in: &fixture).blob.flags == .biometryIsOn)
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "200 OK")
        let second = try device.agree("biometry/add", in: &fixture)
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "200 OK")
        device.biometry = second
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        let third = try device.agree("biometry/add", in: &fixture)
        device.biometry = third
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "200 OK")
        device.biometry = first
        #expect(try device.validate(.possessionBiometry, in: &fixture).outcome == "401 ERR_AUTHENTICATION")

        #expect(
            try device.send(.biometryRemove, .possessionKnowledge, in: &fixture).outcome == "401 ERR_AUTHENTICATION"
        )
        #expect(try device.status(in: &fixture).blob.flags == .biometryIsOn)
        #expect(try device.send(.biometryRemove, .possession, in: &fixture).outcome == "200 OK")
        #expect(try device.status(in: &fixture).blob.flags == [])
        device.biometry = third
        #expect(
            try device.validate(.possessionBiometry, in: &fixture).object["message"]?.string
                == "POWER_AUTH_CODE_INVALID"
        )
    }

    @Test func badRequestsForKeysAreRefusedAndTheKeysStay() throws {
        var (fixture, device) = try BackendFixture.active4()
        let good = try JSONValue(encoding: Version4.SharedSecretAgreement(suite: .p384).request)
        let point = try #require(good["encapsulationKeys"]?.array?.first)
        var bytes = try #require(point.string.flatMap { Base64.decode($0) })
        bytes[bytes.count - 1] ^= 1
        let offCurve = Base64.encode(bytes)
        let bad: [JSONValue] = [
            [:], ["algorithm": "EC_P384"], ["algorithm": "LEGACY_P256", "encapsulationKeys": [point]],
            ["algorithm": "ML_L3", "encapsulationKeys": [point]], ["algorithm": "EC_P384", "encapsulationKeys": []],
            ["algorithm": "EC_P384", "encapsulationKeys": [point, point]],
            ["algorithm": "EC_P384_ML_L3", "encapsulationKeys": [point]],
            ["algorithm": "EC_P384", "encapsulationKeys": [.string(offCurve)]],
            ["algorithm": "EC_P384", "encapsulationKeys": ["AAAA"]],
            ["algorithm": "ec_p384", "encapsulationKeys": [point]],
            ["algorithm": "EC_P384", "ecdhe": point],
        ]
        for content in bad {
            for (call, code) in [("password/change", "400 ERR_PASSWORD_CHANGE"), ("biometry/add", "400 ERR_BIOMETRY")] {
                let (reply, _) = try device.sendEncrypted(call, .possessionKnowledge, content, in: &fixture)
                #expect(reply.outcome == code)
            }
        }
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(try device.status(in: &fixture).blob.flags == [])
        // Either needs the password.
        let (weak, _) = try device.sendEncrypted("password/change", .possession, good, in: &fixture)
        #expect(weak.outcome == "401 ERR_AUTHENTICATION")
    }

    @Test(.enabled(if: AlgorithmSuite.available.count > 1))
    func anActivationKeepsItsSuiteForLife() throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice4(suite: .p384) }
        let other = try JSONValue(encoding: Version4.SharedSecretAgreement(suite: .p384MLLevel3).request)
        let (change, _) = try device.sendEncrypted("password/change", .possessionKnowledge, other, in: &fixture)
        #expect(change.outcome == "400 ERR_PASSWORD_CHANGE")
        let attempt = try device.keyAttempt(.activation, suite: .p384MLLevel5)
        let reply = fixture.send(Version4.Endpoint.temporaryKey.path, json: attempt.body)
        #expect(reply.outcome == "400 ERR_TEMPORARY_KEY")
    }
}
