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
        (.v2_2, .v4_0, fiveMinutes, fiveMinutes),
    ]

    private static func expectToken(
        _ device: any ClientDevice,
        at offset: Milliseconds,
        isTaken: Bool,
        _ fixture: inout BackendFixture
    ) throws {
        let header = try device.tokenHeader(timestamp: fixture.milliseconds + offset)
        let reply = fixture.send("/api/inbox/count", headers: [header], json: [:])
        #expect(reply.status == (isTaken ? 200 : 401), "\(offset)")
    }

    @Test(arguments: Self.tokens.indices) func ofAToken(index: Int) throws {
        let (release, version, behind, ahead) = Self.tokens[index]
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.device(version)
        try device.createToken(in: &fixture)
        for (offset, isTaken) in [(-behind, true), (-behind - 1, false), (ahead, true), (ahead + 1, false)] {
            try Self.expectToken(device, at: offset, isTaken: isTaken, &fixture)
        }
    }

    private static let envelopes: [(Release, ProtocolVersion, behind: Milliseconds?, ahead: Milliseconds)] =
        [ProtocolVersion.v3_2, .v3_3].flatMap { version in
            [
                (.v1_9, version, nil, 60_000), (.v1_10, version, 10_000, 10_000),
                (.v2_1, version, fiveMinutes, fiveMinutes), (.v2_2, version, fiveMinutes, fiveMinutes),
            ]
        } + [(.v2_2, .v4_0, fiveMinutes, fiveMinutes)]

    private static func expectEnvelope(
        _ device: inout any ClientDevice,
        at offset: Milliseconds,
        isTaken: Bool,
        _ fixture: inout BackendFixture
    ) throws {
        let (purpose, path) = ("/pa/generic/activation", device.path("user/info"))
        let sealed = try device.seal([:], for: purpose, timestamp: fixture.milliseconds + offset, in: &fixture)
        #expect(fixture.send(path, sealed).status == (isTaken ? 200 : 400), "\(offset)")
        // Whatever the timestamp, an envelope is taken once.
        #expect(fixture.send(path, sealed).status == 400)
    }

    @Test(arguments: Self.envelopes.indices) func ofAnEnvelope(index: Int) throws {
        let (release, version, behind, ahead) = Self.envelopes[index]
        var fixture = try BackendFixture { $0.profile = .init(release) }
        var device = try fixture.device(version)
        var offsets = [(ahead, true), (ahead + 1, false)]
        if let behind { offsets += [(-behind, true), (-behind - 1, false)] } else { offsets += [(-1 << 40, true)] }
        for (offset, isTaken) in offsets { try Self.expectEnvelope(&device, at: offset, isTaken: isTaken, &fixture) }
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
        var device = try fixture.deviceWithToken(of: .version3)
        for (offset, isTaken) in [(-1_000, true), (-1_001, false), (2_000, true), (2_001, false)] as [(Int64, Bool)] {
            try Self.expectToken(device, at: offset, isTaken: isTaken, &fixture)
        }
        for (offset, isTaken) in [(3_000, true), (3_001, false)] as [(Int64, Bool)] {
            try Self.expectEnvelope(&device, at: offset, isTaken: isTaken, &fixture)
        }
    }
}
