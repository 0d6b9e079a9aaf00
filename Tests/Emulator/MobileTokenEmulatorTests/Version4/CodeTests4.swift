import ExactJSON
import MobileTokenEmulator
import PowerAuthCrypto
import Testing
import WireFacts

/// Authentication codes of version 4, in what version 3 has differently or not at all.
@Suite struct CodeTests4 {
    @Test func theStatusTellsOfTheBlock() throws {
        var (fixture, device) = try BackendFixture.active4()
        device.isMistyping = true
        for _ in 1...5 { _ = try device.validate(in: &fixture) }
        let blob = try device.status(in: &fixture).blob
        #expect(blob.state == .blocked && blob.failedAttempts == 5)
        #expect(blob.counterByte == 1)
    }

    @Test(.wireFact("4.1")) func aBiometricCodeWhileBiometryIsOffDoesNotCount() throws {
        var (fixture, device) = try BackendFixture.active4()
        device.biometry = device.keys?.biometry
        let state = try fixture.exportedState()
        let reply = try device.validate(.possessionBiometry, in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(reply.object["message"]?.string == "POWER_AUTH_CODE_INVALID")
        #expect(reply.reason == "biometry is off")
        #expect(try fixture.exportedState() == state)
    }

    /// Recording `PENDING_COMMIT, blocked by an unknown application key, then unblocked by the bank`: it needs no commit any more.
    @Test func theUncommittedActivationThatWasBlockedIsActiveOnceItIsUnblocked() throws {
        var (fixture, device) = try BackendFixture.with { try $0.pendingDevice4() }
        device.isMistyping = true
        for _ in 1...5 { #expect(try device.confirm(in: &fixture).outcome == "401 ERR_AUTHENTICATION") }
        #expect(fixture.status(ofActivation: device.activationID) == .blocked)
        _ = try fixture.backend.administer(.unblock(activationID: device.activationID), at: fixture.now)
        #expect(fixture.status(ofActivation: device.activationID) == .active)
    }

    @Test(.wireFact("4.1", "2.6")) func headersOfOneVersionAreNoneOfTheOther() throws {
        var (fixture, device) = try BackendFixture.active4()
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
            #expect(reply.status == 401 && reply.object["message"]?.string == "POWER_AUTH_CODE_INVALID")
        }
        let missing = fixture.send("POST", "/pa/v4/auth/validate", body: body)
        #expect(missing.object["message"]?.string == "POWER_AUTH_CODE_INVALID")
        #expect(try fixture.exportedState() == state)
        // A right code at the endpoint of the other version is right, and moves the counter; then it is refused.
        let three = try older.sendSigned("/pa/v4/auth/validate", in: &fixture)
        let four = try device.sendSigned("/pa/v3/signature/validate", in: &fixture)
        for reply in [three, four] {
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(reply.object["message"]?.string == "POWER_AUTH_CODE_INVALID")
            // To the one after it: some before it were spent on headers that nobody could read.
            #expect((reply.counterAfter ?? 0) > (reply.counterBefore ?? 0))
        }
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(try older.sendSigned("/pa/v3/signature/validate", in: &fixture).status == 200)
    }

    /// As the validators of the official library 2.0.1 judge headers.
    @Test(.wireFact("4.1")) func aTypeMayBeInCapitalsAndACodeOfFewerFactorsIsWrong() throws {
        var (fixture, device) = try BackendFixture.active4()
        let (path, uriID, body) = ("/pa/v4/auth/validate", "/pa/auth/validate", device.validateBody().serialized())
        var two = try device.codeHeader(.possessionKnowledge, uriID: uriID, body: body)
        two.value.replace("possession_knowledge", with: "POSSESSION_KNOWLEDGE")
        #expect(fixture.send("POST", path, headers: [two], body: body).outcome == "200 OK")
        var one = try device.codeHeader(.possession, uriID: uriID, body: body)
        one.value.replace("\"possession\"", with: "\"possession_knowledge\"")
        #expect(fixture.send("POST", path, headers: [one], body: body).outcome == "401 ERR_AUTHENTICATION")
        #expect(try device.status(in: &fixture).blob.failedAttempts == 1)
    }

    @Test func tokensOfOneVersionAreNoneOfTheOther() throws {
        var (fixture, device) = try BackendFixture.active4()
        try device.createToken(in: &fixture)
        let older = try fixture.deviceWithToken(user: "bob")
        let path = "/api/inbox/count"
        let (nonce, now) = (SecureRandom.bytes(16), fixture.milliseconds)
        let (id, secret) = (device.tokenID, device.tokenSecret)
        let asThree = TokenHeader(tokenID: id, secret: secret, nonce: nonce, timestamp: now, version: .v3_3)
        let (other, own) = (older.tokenID, older.tokenSecret)
        let asFour = try TokenHeader(version4TokenID: other, secret: own, nonce: nonce, timestamp: now)
        for value in [asThree.value, asFour.value] {
            let reply = fixture.send(path, headers: [(TokenHeader.name, value)], json: [:])
            #expect(reply.outcome == "401 ERR_AUTHENTICATION")
            #expect(reply.object["message"]?.string == "POWER_AUTH_CODE_INVALID")
        }
    }

    @Test(.wireFact("B6", "4.2")) func anEnvelopeThatDoesNotOpenHasCostAStep() throws {
        var (fixture, device) = try BackendFixture.active4()
        let envelope = try device.envelope(.tokenCreate, in: &fixture)
        // The code is right, and of the bytes that were sent.
        let other = try device.envelope(.vaultUnlock, in: &fixture)
        let path = Version4.Endpoint.tokenCreate.path
        func send(_ body: [UInt8], signing signed: [UInt8]) throws -> Reply {
            let header = try device.codeHeader(.possession, uriID: "/pa/token/create", body: signed)
            return fixture.send("POST", path, headers: [header], body: body)
        }
        let closed = try send(other.bytes, signing: other.bytes)
        #expect(closed.outcome == "401 ERR_AUTHENTICATION" && closed.object["message"] == "POWER_AUTH_CODE_INVALID")
        #expect(closed.counterAfter == closed.counterBefore.map { $0 + 1 })
        // A wrong code is judged first, and leaves the envelope unused.
        let wrong = try send(envelope.bytes, signing: other.bytes)
        #expect(wrong.object["message"] == "POWER_AUTH_CODE_INVALID" && wrong.counterAfter == wrong.counterBefore)
        #expect(try send(envelope.bytes, signing: envelope.bytes).status == 200)
        let incomplete = Array(#"{"encryptedData":"AAAA","nonce":"AAAA"}"#.utf8)
        #expect(try send(incomplete, signing: incomplete).object["message"] == "POWER_AUTH_CODE_INVALID")
    }

    @Test(
        .wireFact("B6", "4.2"),
        arguments: [("password/change", "400 ERR_PASSWORD_CHANGE"), ("biometry/add", "400 ERR_BIOMETRY")]
    )
    func newKeysAreAskedForWithTheCodeFirst(call: String, outcome: String) throws {
        var (fixture, device) = try BackendFixture.active4()
        let (path, purpose) = (device.path(call), "/pa/vault/unlock")
        let (reply, _) = try device.encryptThenSign(path, uriID: "/pa/" + call, purpose: purpose, in: &fixture)
        #expect(reply.outcome == outcome, "\(reply.verdict)")
        #expect(reply.counterAfter == reply.counterBefore.map { $0 + 1 })
        let (unreadable, _) = try device.sendEncrypted(call, .possessionKnowledge, ["a": 1], in: &fixture)
        #expect(unreadable.outcome == outcome)
    }

    @Test(.wireFact("B30", "2.5")) func onlyAnActivationThatWaitsIsConfirmedBeforeTheCommit() throws {
        var (fixture, device) = try BackendFixture.with { try $0.pendingDevice4() }
        #expect(try device.confirm(in: &fixture).outcome == "200 OK")
        let state = try fixture.exportedState()
        #expect(try device.confirm(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedState() == state)
        _ = fixture.cloud("POST", "/v2/registrations/\(device.activationID)/commit", [:])
        #expect(try device.confirm(in: &fixture).outcome == "400 ERR_ACTIVATION")
    }
}
