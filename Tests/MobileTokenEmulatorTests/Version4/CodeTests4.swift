import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// What the server does with an authentication code: what it accepts, refuses and counts.
@Suite struct CodeTests4 {
    private static let wrongKey = SecretBytes(copying: [UInt8](repeating: 7, count: 32))

    @Test func theServerLooksNineteenStepsAhead() throws {
        for (steps, outcome) in [(19, "200 OK"), (20, "401 ERR_AUTHENTICATION")] {
            var fixture = try BackendFixture()
            var device = try fixture.activeDevice4()
            device.counter = device.counter.advanced(by: steps)
            let reply = try device.validate(in: &fixture)
            #expect(reply.outcome == outcome)
            #expect(reply.counterBefore == 1 && reply.counterAfter == (steps == 19 ? 21 : 1))
        }
    }

    @Test func aReplayedCodeIsRefusedAndCounts() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let body = device.validateBody().serialized()
        let header = try device.codeHeader(.possessionKnowledge, uriID: "/pa/auth/validate", body: body)
        #expect(fixture.send("POST", "/pa/v4/auth/validate", headers: [header], body: body).outcome == "200 OK")
        let replay = fixture.send("POST", "/pa/v4/auth/validate", headers: [header], body: body)
        #expect(replay.outcome == "401 ERR_AUTHENTICATION")
        #expect(fixture.backend.activations[0].failedAttempts == 1)
    }

    @Test func fiveWrongPasswordsBlock() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let right = device.knowledge
        device.knowledge = Self.wrongKey
        for attempt in 1...5 {
            #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
            #expect(fixture.backend.activations[0].failedAttempts == attempt)
            #expect(fixture.status(ofActivation: device.activationID) == (attempt < 5 ? "ACTIVE" : "BLOCKED"))
        }
        device.knowledge = right
        let state = try fixture.exportedState()
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedState() == state)
        let blob = try device.status(in: &fixture).blob
        #expect(blob.state == .blocked && blob.failedAttempts == 5)
        #expect(blob.counterByte == 1)
    }

    @Test func possessionAloneNeitherCountsNorResets() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let right = device.knowledge
        device.knowledge = Self.wrongKey
        _ = try device.validate(in: &fixture)
        #expect(fixture.backend.activations[0].failedAttempts == 1)
        #expect(try device.validate(.possession, in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.activations[0].failedAttempts == 1)
        device.knowledge = right
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.activations[0].failedAttempts == 0)
    }

    @Test func aBiometricCodeWhileBiometryIsOffIsAnErrorOfItsOwnAndDoesNotCount() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        device.biometry = device.keys?.biometry
        let state = try fixture.exportedState()
        let reply = try device.validate(.possessionBiometry, in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(reply.object["message"]?.string == "POWER_AUTH_CODE_ERROR")
        #expect(reply.reason == "biometry is off")
        #expect(try fixture.exportedState() == state)
    }

    @Test func theUncommittedActivationThatIsBlockedStillHasToBeCommitted() throws {
        var fixture = try BackendFixture()
        var device = try fixture.pendingDevice4()
        let right = device.knowledge
        device.knowledge = Self.wrongKey
        for _ in 1...5 { #expect(try device.confirm(in: &fixture).outcome == "401 ERR_AUTHENTICATION") }
        #expect(fixture.status(ofActivation: device.activationID) == "BLOCKED")
        _ = try fixture.backend.administer(.unblock(activationID: device.activationID), at: fixture.now)
        #expect(fixture.status(ofActivation: device.activationID) == "PENDING_COMMIT")
        device.knowledge = right
        #expect(try device.confirm(in: &fixture).outcome == "200 OK")
        fixture.advance(seconds: 301)
        _ = fixture.backend.settle(at: fixture.now)
        #expect(fixture.status(ofActivation: device.activationID) == "REMOVED")
    }

    @Test func headersOfOneVersionAreNoneOfTheOther() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        var older = try fixture.activeDevice(user: "bob")
        let state = try fixture.exportedState()
        let body = device.validateBody().serialized()
        let right = try device.codeHeader(.possessionKnowledge, uriID: "/pa/auth/validate", body: body).value
        let damaged = [
            right.replacing("pa_auth_code_type", with: "pa_signature_type"),
            right.replacing("pa_auth_code=", with: "pa_signature="),
            right + #", pa_signature="AAAA""#, right.replacing("\"4.0\"", with: "\"3.3\""),
            right.replacing("\"4.0\"", with: "\"4.1\""), right.replacing("possession_knowledge", with: "knowledge"),
            right.replacing("possession_knowledge", with: "possession_knowledge_biometry"),
            right.replacing("pa_version=\"4.0\", ", with: ""),
        ]
        for header in damaged {
            let name = Version4.AuthenticationHeader.name
            let reply = fixture.send("POST", "/pa/v4/auth/validate", headers: [(name, header)], body: body)
            #expect(reply.status == 401 && reply.object["message"]?.string == "POWER_AUTH_REQUEST_INVALID")
        }
        let missing = fixture.send("POST", "/pa/v4/auth/validate", body: body)
        #expect(missing.object["message"]?.string == "POWER_AUTH_HTTP_HEADER_MISSING")
        #expect(try fixture.exportedState() == state)
        // A right code at the endpoint of the other version is none there.
        let three = try older.sendSigned("/pa/v4/auth/validate", uriID: "/pa/auth/validate", in: &fixture)
        #expect(three.outcome == "401 ERR_AUTHENTICATION")
        let four = try device.send("/pa/v3/signature/validate", uriID: "/pa/signature/validate", in: &fixture)
        #expect(four.outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedState() == state)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(
            try older.sendSigned("/pa/v3/signature/validate", uriID: "/pa/signature/validate", in: &fixture).status
                == 200
        )
    }

    @Test func tokensOfOneVersionAreNoneOfTheOther() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        try device.createToken(in: &fixture)
        let older = try fixture.deviceWithToken(user: "bob")
        let path = "/api/inbox/count"
        let (id, secret) = try #require(device.token)
        let asThree = TokenHeader(
            tokenID: id,
            secret: secret,
            nonce: SecureRandom.bytes(16),
            timestamp: fixture.milliseconds,
            version: .v3_3
        )
        let asFour = try Version4.TokenHeader(
            tokenID: older.tokenID,
            secret: older.tokenSecret,
            nonce: SecureRandom.bytes(16),
            timestamp: fixture.milliseconds
        )
        for value in [asThree.value, asFour.value] {
            let reply = fixture.send(path, headers: [(TokenHeader.name, value)], json: [:])
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(reply.object["message"]?.string == "POWER_AUTH_TOKEN_INVALID")
        }
        let header = try device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(fixture.send(path, headers: [header], json: [:]).outcome == "200 OK")
        #expect(fixture.send(path, headers: [header], json: [:]).outcome == "401 ERR_AUTHENTICATION")
        for offset: Milliseconds in [-7_200_001, 60_001] {
            let late = try device.tokenHeader(timestamp: fixture.milliseconds + offset)
            #expect(fixture.send(path, headers: [late], json: [:]).outcome == "401 ERR_AUTHENTICATION")
        }
    }

    @Test(arguments: ["GET", "PUT", "DELETE"]) func codesAreValidatedWithEveryMethod(method: String) throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let body = method == "GET" ? [] : Array("{}".utf8)
        let header = try device.codeHeader(.possession, uriID: "/pa/auth/validate", method: method, body: body)
        let reply = fixture.send(method, "/pa/v4/auth/validate", headers: [header], body: body)
        #expect(reply.outcome == "200 OK", "\(reply.verdict)")
    }

    @Test func theJournalTellsWhyACodeIsWrong() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let right = device.knowledge
        device.knowledge = Self.wrongKey
        let wrongPassword = try device.validate(in: &fixture)
        #expect(
            wrongPassword.reason == """
                the code is wrong: the counters 0 to 19 steps ahead were tried with the current key; 0 steps ahead with the \
                current key, possession matches, knowledge does not match
                """
        )
        device.knowledge = right
        device.counter = device.counter.advanced(by: 30)
        let ahead = try device.validate(.possession, in: &fixture)
        #expect(ahead.reason == "the code is wrong: it is 31 steps ahead, and the server looks 20 far")
        let elsewhere = try device.send("/pa/v4/auth/validate", uriID: "/operation/history", in: &fixture)
        #expect(elsewhere.reason?.hasSuffix("and no component matches") == true)
    }

    @Test func anEncryptedRequestThatDoesNotOpenMovesNothing() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice4()
        let envelope = try device.envelope(.tokenCreate, [:], in: &fixture)
        // The code is right, and of the bytes that were sent.
        let other = try device.envelope(.vaultUnlock, [:], in: &fixture)
        let body = other.body
        let header = try device.codeHeader(.possession, uriID: "/pa/token/create", body: body)
        let state = try fixture.exportedState()
        let path = Version4.Endpoint.tokenCreate.path
        #expect(fixture.send("POST", path, headers: [header], body: body).outcome == "400 ERR_ENCRYPTION")
        #expect(try fixture.exportedState() == state)
        // An envelope that opens is used up, although its code is wrong.
        let wrong = try device.codeHeader(.possession, uriID: "/pa/token/create", body: body)
        #expect(fixture.send("POST", path, headers: [wrong], body: envelope.body).outcome == "401 ERR_AUTHENTICATION")
        let right = try device.codeHeader(.possession, uriID: "/pa/token/create", body: envelope.body)
        let replay = fixture.send("POST", path, headers: [right], body: envelope.body)
        #expect(replay.outcome == "400 ERR_ENCRYPTION" && replay.reason == "the request was sent before")
    }
}
