import ExactJSON
import MobileTokenEmulator
import Testing

/// Signatures of version 3 and authentication codes of version 4, as far as the server judges and counts them alike.
@Suite struct CodeRefusalTests {
    @Test(arguments: MajorVersion.allCases) func theServerLooksNineteenStepsAhead(version: MajorVersion) throws {
        for (steps, outcome) in [(19, "200 OK"), (20, "401 ERR_AUTHENTICATION")] {
            var (fixture, device) = try BackendFixture.active(version)
            device.loseRequests(steps)
            let reply = try device.validate(in: &fixture)
            #expect(reply.outcome == outcome)
            #expect(reply.counterAfter == reply.counterBefore.map { $0 + (steps == 19 ? 20 : 0) })
        }
    }

    @Test(arguments: MajorVersion.allCases) func aReplayedCodeIsRefusedAndCounts(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let (body, path) = (Array("{}".utf8), "/api/auth/token/app/operation/history")
        let header = try device.codeHeader(.possessionKnowledge, uriID: "/operation/history", body: body)
        #expect(fixture.send("POST", path, headers: [header], body: body).outcome == "200 OK")
        let replay = fixture.send("POST", path, headers: [header], body: body)
        #expect(replay.outcome == "401 POWERAUTH_AUTH_FAIL" && replay.counterAfter == replay.counterBefore)
        #expect(fixture.failures == 1)
    }

    @Test(arguments: MajorVersion.allCases) func aCodeForAnotherResourceIsRefused(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let reply = try device.sendSigned(device.path("activation/remove"), uriID: device.validateURI, in: &fixture)
        #expect(reply.outcome == "401 ERR_AUTHENTICATION")
        #expect(fixture.status(ofActivation: device.activationID) == .active)
    }

    @Test(arguments: MajorVersion.allCases) func fiveWrongPasswordsBlock(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        try device.createToken(.possession, in: &fixture)
        device.isMistyping = true
        for attempt in 1...5 {
            #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
            #expect(fixture.failures == attempt)
            #expect(fixture.status(ofActivation: device.activationID) == (attempt < 5 ? .active : .blocked))
        }
        device.isMistyping = false
        let state = try fixture.exportedStateBesidesReplays()
        #expect(try device.validate(in: &fixture).outcome == "401 ERR_AUTHENTICATION")
        let token = try device.tokenHeader(in: fixture)
        #expect(fixture.send("/api/inbox/count", headers: [token], json: [:]).outcome == "401 ERR_AUTHENTICATION")
        #expect(try fixture.exportedStateBesidesReplays() == state)
    }

    @Test(arguments: MajorVersion.allCases) func possessionAloneNeitherCountsNorResets(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        device.isMistyping = true
        _ = try device.validate(in: &fixture)
        device.isMistyping = false
        #expect(fixture.failures == 1)
        #expect(try device.validate(.possession, in: &fixture).outcome == "200 OK")
        #expect(fixture.failures == 1)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(fixture.failures == 0)
    }

    @Test(arguments: MajorVersion.allCases, ["GET", "POST", "PUT", "DELETE"])
    func codesAreValidatedWithEveryMethod(version: MajorVersion, method: String) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let body = method == "GET" ? [] : Array("{}".utf8)
        let header = try device.codeHeader(.possession, uriID: device.validateURI, method: method, body: body)
        #expect(fixture.send(method, device.validatePath, headers: [header], body: body).outcome == "200 OK")
        let replay = fixture.send(method, device.validatePath, headers: [header], body: body)
        #expect(replay.outcome == "401 ERR_AUTHENTICATION")
    }
}
