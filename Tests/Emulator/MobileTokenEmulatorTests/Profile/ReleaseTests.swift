import ExactJSON
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The differences between the releases of real servers, apart from clocks.
@Suite struct ReleaseTests {
    typealias Release = EmulatorServerProfile.Release

    @Test(arguments: Release.allCases) func version4CameWithTheSecondGeneration(release: Release) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        let isServed = release >= .v2_1
        let status = fixture.send("/pa/v4/status", json: [:])
        #expect(status.outcome == (isServed ? "200 OK" : "404 ERROR_NOT_FOUND"))
        let registration = fixture.cloud("POST", "/v2/registrations", ["userId": "a", "protocolVersion": "4.0"])
        #expect((registration.status == 200) == isServed)
        fixture.backend.protocolRules.upgradeOffers = [fixture.backend.defaultApplication.id]
        #expect(fixture.backend.offersUpgrade(to: fixture.backend.defaultApplication.id) == isServed)
    }

    @Test(.wireFact("4.1"), arguments: Release.allCases) func theWordForACodeChanged(release: Release) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.activeDevice()
        let word = release >= .v2_1 ? "CODE" : "SIGNATURE"
        let path = "/pa/v3/signature/validate"
        #expect(fixture.send(path, json: [:]).object["message"]?.string == "POWER_AUTH_\(word)_INVALID")
        let wrong = try device.sendSigned(path, uriID: "/x", in: &fixture)
        #expect(wrong.object["message"]?.string == "POWER_AUTH_\(word)_INVALID")
        let type = try device.sendSigned("/pa/v3/activation/remove", .possession, in: &fixture)
        #expect(type.object["message"]?.string == "POWER_AUTH_\(word)_INVALID")
    }

    /// The official clients of releases without version 4 refuse a configuration with its keys.
    @Test(arguments: Release.allCases) func theConfigurationOfAClientHasTheKeysOfTheRelease(release: Release) throws {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        let application = fixture.cloud("POST", "/admin/applications", ["id": "another"]).json
        for string in [fixture.backend.defaultApplication.sdkConfiguration, application["mobileSdkConfig"]?.string] {
            let contents = try SDKConfigurationContents(parsing: #require(string))
            #expect((contents.keys.count > 1) == (release >= .v2_1))
            #expect(contents.keys.first?.bytes.count == (release >= .v2_1 ? 33 : 65))
        }
    }

    @Test(.wireFact("B25"), arguments: Release.allCases, [false, true])
    func removalByPossessionIsASettingOfTheSecondGeneration(release: Release, isAllowed: Bool) throws {
        var fixture = try BackendFixture {
            $0.profile = .init(release)
            $0.protocolRules.allowsRemovalByPossession = isAllowed
        }
        let works = isAllowed && release >= .v2_1
        for version in release >= .v2_1 ? MajorVersion.allCases : [.version3] {
            var device = try fixture.device(version)
            let path = device.path("activation/remove")
            let reply = try device.sendSigned(path, uriID: "/pa/activation/remove", .possession, in: &fixture)
            #expect(reply.outcome == (works ? "200 OK" : "401 ERR_AUTHENTICATION"), "\(reply.verdict)")
            #expect(fixture.status(ofActivation: device.activationID) == (works ? .removed : .active))
        }
    }

    @Test(.wireFact("2.2"), arguments: Release.allCases) func whatIsMissingIsToldInTheWordsOfTheRelease(
        release: Release
    )
        throws
    {
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.activeDevice()
        let isValidated = release >= .v2_1
        for body in [[:], ["requestObject": .null], ["requestObject": [:]]] as [JSONValue] {
            let status = fixture.send("/pa/v3/activation/status", json: body)
            #expect(status.outcome == (isValidated ? "400 ERR_VALIDATION" : "400 ERR_ACTIVATION"))
            let removal = try device.sendSigned("/pa/v3/token/remove", .possession, body, in: &fixture)
            #expect(removal.outcome == (isValidated ? "400 ERR_VALIDATION" : "401 ERR_AUTHENTICATION"))
            if !isValidated { #expect(removal.object["message"] == "POWER_AUTH_SIGNATURE_INVALID") }
        }
    }

    @Test(.wireFact("2.2")) func whatReadsNoBodyTakesAny() throws {
        var (fixture, device) = try BackendFixture.active(.version4)
        let type = (name: "Content-Type", value: "text/plain")
        #expect(fixture.send("POST", "/pa/v3/status", headers: [type], body: Array("[".utf8)).outcome == "200 OK")
        let body = Array("nothing of it is read".utf8)
        for (path, factors) in [
            ("/pa/v4/auth/validate", .possessionKnowledge), ("/pa/v4/biometry/remove", .possession),
            ("/pa/v4/activation/remove", .possessionKnowledge),
        ] as [(String, SignatureType)] {
            let code = try device.codeHeader(factors, uriID: path.replacing("/v4", with: ""), body: body)
            #expect(fixture.send("POST", path, headers: [code, type], body: body).outcome == "200 OK", "\(path)")
        }
        var older = try fixture.device(.version3)
        for path in ["/pa/v3/signature/validate", "/pa/v3/activation/remove"] {
            let uriID = path.replacing("/v3", with: "")
            let code = try older.codeHeader(.possessionKnowledge, uriID: uriID, body: body)
            #expect(fixture.send("POST", path, headers: [code, type], body: body).outcome == "200 OK", "\(path)")
        }
    }

    /// The missing header is found by what is around the controller, which has no words of PowerAuth for it.
    @Test(.wireFact("3.2"), arguments: MajorVersion.allCases)
    func aRemovalWithoutAHeaderIsNoWrongCode(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let reply = fixture.send(device.path("activation/remove"), json: [:])
        #expect(reply.outcome == "500 ERROR_GENERIC", "\(reply.verdict)")
        #expect(fixture.status(ofActivation: device.activationID) == .active && fixture.failures == 0)
    }

    @Test func releasesHaveAnOrder() {
        #expect(Release.allCases.map(\.rawValue) == ["1.9", "1.10", "2.1", "2.2"])
        #expect(Release.allCases.sorted() == Release.allCases)
        #expect(EmulatorServerProfile() == EmulatorServerProfile(.v2_2))
    }

    @Test func aServerThatDemandsVersion4MustHaveIt() async {
        var configuration = Emulator.Configuration()
        configuration.profile = .init(.v1_10)
        configuration.protocolRules.minimumVersion = 4
        await #expect(throws: EmulatorError.self) { try await Emulator.start(configuration: configuration) }
    }
}
