import ExactJSON
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct StateTests {
    @Test func anExportedServerGoesOnElsewhere() throws {
        var fixture = try BackendFixture(seed: nil)
        var device = try fixture.deviceWithToken()
        let operation = try fixture.operation("payment")
        _ = try fixture.operation(user: nil)
        let document = try fixture.backend.exported()
        try fixture.replace(with: document)
        #expect(try fixture.backend.exported() == document)
        #expect(device.operations(in: &fixture).count == 1)
        #expect(try device.authorize(operation, in: &fixture).outcome == "200 OK")
        #expect(fixture.backend.nextDeadline != nil)
        fixture.advance(seconds: 300)
        #expect(fixture.backend.settle(at: fixture.now).map(\.status) == ["EXPIRED"])
    }

    @Test func anImportedServerRemembersWhatItHasSeen() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let header = device.tokenHeader(timestamp: fixture.milliseconds)
        #expect(fixture.send("/api/inbox/count", headers: [header], json: [:]).status == 200)
        let document = try fixture.backend.exported()
        try fixture.replace(with: document)
        #expect(fixture.send("/api/inbox/count", headers: [header], json: [:]).status == 401)
    }

    @Test(arguments: [
        ("", "it is no JSON object"), ("{}", "'format' is missing"), ("[]", "it is no JSON object"),
        (#"{"format":"x","version":1,"state":{}}"#, "its 'format' is not mobile-token-emulator"),
        (#"{"format":"mobile-token-emulator","version":99,"state":{}}"#, "its 'version' is 99, not 1"),
        (
            #"{"format":"mobile-token-emulator","version":1,"state":{"defaultApplicationID":3}}"#,
            "'state.defaultApplicationID' is of another form"
        ),
    ])
    func otherDocumentsAreRefusedWithWhatIsWrong(text: String, reason: String) {
        let refusal = #expect(throws: Refusal.self) {
            try Backend(importing: Array(text.utf8), configuration: BackendFixture.configuration.backend)
        }
        #expect(refusal?.message == "Not a document of this server: \(reason)")
    }

    @Test func equalSeedsGiveEqualServers() throws {
        func identifiers(seed: UInt64?) throws -> [String] {
            var fixture = try BackendFixture(seed: seed)
            let application = fixture.backend.defaultApplication
            let registration = fixture.cloud("POST", "/v2/registrations", ["userId": "alice"]).json
            let operation = try fixture.operation()
            let code = try #require(registration["activationCode"]?.string)
            return [application.key, application.secret, application.masterServerPublicKey, code, operation.id]
        }
        #expect(try identifiers(seed: 3) == identifiers(seed: 3))
        #expect(try identifiers(seed: 3) != identifiers(seed: 4))
        #expect(try identifiers(seed: nil) != identifiers(seed: nil))
    }

    @Test func anAdministratorBlocksUnblocksMovesAndRemoves() throws {
        var (fixture, device) = try BackendFixture.active()
        let id = device.activationID
        func administer(_ change: AdministrativeChange) throws -> [BackendEvent] {
            try fixture.backend.administer(change, at: fixture.now)
        }
        #expect(try administer(.block(activationID: id)).map(\.status) == ["BLOCKED"])
        #expect(try administer(.unblock(activationID: id)).map(\.status) == ["ACTIVE"])
        _ = try administer(.advanceCounter(activationID: id, by: 21))
        #expect(fixture.backend.activations[0].counter == 21)
        device.counter = device.counter.advanced(by: 21)
        #expect(try device.validate(in: &fixture).outcome == "200 OK")
        #expect(try administer(.remove(activationID: id)).map(\.status) == ["REMOVED"])
        let state = try fixture.exportedState()
        for change: AdministrativeChange in [
            .block(activationID: id), .unblock(activationID: id), .remove(activationID: id),
            .advanceCounter(activationID: id, by: 1), .advanceCounter(activationID: id, by: .max),
            .block(activationID: "nothing"),
        ] {
            #expect(throws: Refusal.self) { try administer(change) }
        }
        #expect(try fixture.exportedState() == state)
    }

    @Test func applicationsAreKeptApart() throws {
        var fixture = try BackendFixture()
        let made = fixture.cloud("POST", "/admin/applications", ["id": "second", "roles": ["VIP"]]).json
        #expect(fixture.cloud("POST", "/admin/applications", ["id": "second"]).outcome == "400 ERROR_REQUEST")
        #expect(made["roles"] == ["VIP"])
        let listed = fixture.cloud("GET", "/v2/applications").json["applications"]
        #expect(listed?.array?.compactMap { $0["appId"]?.string } == ["mobile-token", "second"])
        let configuration = try SDKConfiguration(parsing: #require(made["mobileSdkConfig"]?.string))
        #expect(configuration.applicationKey == made["appKey"]?.string)
        let second = ApplicationDescription(
            id: "second",
            key: configuration.applicationKey,
            secret: configuration.applicationSecret.base64,
            masterServerPublicKey: try #require(made["masterServerPublicKey"]?.string)
        )
        let code = try fixture.activationCode(["appId": "second"])

        var stranger = fixture.newDevice()
        #expect(try stranger.sendActivation(code, otp: nil, in: &fixture).reply.outcome == "400 ERR_ACTIVATION")

        var device = TestDevice(application: second, version: .v3_3)
        try device.activate(code, in: &fixture)
        #expect(fixture.cloud("POST", "/v2/registrations/\(device.activationID)/commit").status == 200)
        try device.createToken(in: &fixture)
        _ = try fixture.operation(user: "alice")
        #expect(device.operations(in: &fixture).isEmpty)
        _ = try fixture.operation(user: "alice", ["appId": "second"])
        #expect(device.operations(in: &fixture).count == 1)
    }

    @Test func theReplayCacheForgetsWhatHasExpiredAndNeverGrowsPastItsCapacity() {
        var cache = ReplayCache()
        cache.insert("first", until: 1_000, at: 0)
        #expect(cache.contains("first", at: 1_000))
        #expect(!cache.contains("first", at: 1_001))
        #expect(!cache.contains("second", at: 0))
        cache.insert("later", until: 90_000, at: 61_000)
        #expect(cache.count == 1)
        for number in 0..<(ReplayCache.capacity + 10) {
            cache.insert("n\(number)", until: 100_000 + Milliseconds(number), at: 61_000)
        }
        #expect(cache.count <= ReplayCache.capacity)
        #expect(cache.contains("n\(ReplayCache.capacity + 9)", at: 61_000))
    }
}
