import ExactJSON
import MobileTokenEmulator
import Testing
import WireFacts

/// By how much a clock may be wrong, release by release.
@Suite(.wireFact("B33", "2.8")) struct TimestampTests {
    typealias Release = EmulatorServerProfile.Release

    private static let twoHours: Milliseconds = 7_200_000
    private static let fiveMinutes: Milliseconds = 300_000

    /// The last timestamps that are taken, as distances from the server's time; `nil` for none.
    private static let tokens: [(Release, ProtocolVersion, behind: Milliseconds, ahead: Milliseconds)] = [
        (.v1_9, .v3_1, twoHours, 1_800_000), (.v1_9, .v3_2, twoHours, 60_000), (.v1_9, .v3_3, twoHours, 60_000),
        (.v1_10, .v3_1, twoHours, 10_000), (.v1_10, .v3_3, 10_000, 10_000),
        (.v2_1, .v3_1, twoHours, twoHours), (.v2_1, .v3_2, fiveMinutes, fiveMinutes),
        (.v2_2, .v3_1, twoHours, twoHours), (.v2_2, .v3_3, fiveMinutes, fiveMinutes),
    ]

    @Test(arguments: Self.tokens.indices) func ofATokenInVersion3(index: Int) throws {
        let (release, version, behind, ahead) = Self.tokens[index]
        var fixture = try BackendFixture { $0.profile = .init(release) }
        let device = try fixture.deviceWithToken(version: version)
        for (offset, isTaken) in [(-behind, true), (-behind - 1, false), (ahead, true), (ahead + 1, false)] {
            let header = device.tokenHeader(timestamp: fixture.milliseconds + offset)
            let reply = fixture.send("/api/inbox/count", headers: [header], json: [:])
            #expect(reply.status == (isTaken ? 200 : 401), "\(offset)")
        }
    }

    private static let envelopes: [(Release, behind: Milliseconds?, ahead: Milliseconds)] = [
        (.v1_9, nil, 60_000), (.v1_10, 10_000, 10_000), (.v2_1, fiveMinutes, fiveMinutes),
        (.v2_2, fiveMinutes, fiveMinutes),
    ]

    @Test(arguments: Self.envelopes.indices, [ProtocolVersion.v3_2, .v3_3])
    func ofAnEnvelopeInVersion3(index: Int, version: ProtocolVersion) throws {
        let (release, behind, ahead) = Self.envelopes[index]
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.activeDevice(version: version)
        var offsets = [(ahead, true), (ahead + 1, false)]
        if let behind { offsets += [(-behind, true), (-behind - 1, false)] } else { offsets += [(-1 << 40, true)] }
        for (offset, isTaken) in offsets {
            var encryptor = try device.encryptor(.genericActivation, activationScope: true, in: &fixture)
            let body = try TestDevice.encrypt([:], &encryptor, timestamp: fixture.milliseconds + offset)
            let headers = [device.encryptionHeader(activationScope: true)]
            let reply = fixture.send("/pa/v3/user/info", headers: headers, json: body)
            #expect(reply.status == (isTaken ? 200 : 400), "\(offset)")
            // Whatever the timestamp, an envelope is taken once.
            #expect(fixture.send("/pa/v3/user/info", headers: headers, json: body).status == 400)
        }
    }

    @Test func ofATokenAndAnEnvelopeInVersion4() throws {
        var (fixture, device) = try BackendFixture.active4()
        try device.createToken(in: &fixture)
        for (offset, isTaken) in [
            (-Self.fiveMinutes, true), (-Self.fiveMinutes - 1, false), (Self.fiveMinutes, true),
            (Self.fiveMinutes + 1, false),
        ] {
            let timestamp = fixture.milliseconds + offset
            let token = fixture.send(
                "/api/inbox/count",
                headers: [try device.tokenHeader(timestamp: timestamp)],
                json: [:]
            )
            #expect(token.status == (isTaken ? 200 : 401))
            let envelope = try device.envelope(.genericActivation, [:], timestamp: timestamp, in: &fixture)
            let told = fixture.send("POST", "/pa/v4/user/info", headers: [envelope.header], body: envelope.body)
            #expect(told.status == (isTaken ? 200 : 400))
        }
    }

    @Test func theJournalNamesTheReleasesThatWouldTakeIt() throws {
        var (fixture, device) = try BackendFixture.withToken()
        let header = device.tokenHeader(timestamp: fixture.milliseconds - Self.twoHours)
        let reply = fixture.send("/api/inbox/count", headers: [header], json: [:])
        #expect(reply.reason == "the timestamp is too old; servers of release 1.9 take it")
    }

    @Test func limitsGoBeforeTheRelease() throws {
        var fixture = try BackendFixture {
            $0.limits.tokenTimestampAge = 1
            $0.limits.tokenTimestampAhead = 2
            $0.limits.encryptionTimestampAhead = 3
        }
        var device = try fixture.deviceWithToken()
        for (offset, isTaken) in [(-1_000, true), (-1_001, false), (2_000, true), (2_001, false)] as [(Int64, Bool)] {
            let header = device.tokenHeader(timestamp: fixture.milliseconds + offset)
            let reply = fixture.send("/api/inbox/count", headers: [header], json: [:])
            #expect(reply.status == (isTaken ? 200 : 401), "\(offset)")
        }
        for (offset, isTaken) in [(3_000, true), (3_001, false)] as [(Int64, Bool)] {
            var encryptor = try device.encryptor(.genericActivation, activationScope: true, in: &fixture)
            let body = try TestDevice.encrypt([:], &encryptor, timestamp: fixture.milliseconds + offset)
            let headers = [device.encryptionHeader(activationScope: true)]
            let reply = fixture.send("/pa/v3/user/info", headers: headers, json: body)
            #expect(reply.status == (isTaken ? 200 : 400), "\(offset)")
        }
    }
}
