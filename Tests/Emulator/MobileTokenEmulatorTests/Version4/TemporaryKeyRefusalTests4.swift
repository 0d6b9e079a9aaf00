import EmulatorBackend
import ExactJSON
import PowerAuthProtocol
import Testing

/// The refusals of requests for temporary keys, and of requests that are encrypted with them.
@Suite struct TemporaryKeyRefusalTests4 {
    private static let path = Version4.Endpoint.temporaryKey.path

    @Test func activationsOfVersionThreeGetNoKey() throws {
        var (fixture, older) = try BackendFixture.active()
        var device = try fixture.activeDevice4(user: "bob")
        device.activationID = older.activationID
        let reply = fixture.send(Self.path, json: try device.keyAttempt(.activation).body)
        #expect(reply.outcome == "400 ERR_TEMPORARY_KEY")
        let created = fixture.cloud("POST", "/v2/registrations", ["userId": "carol"]).json
        device.activationID = try #require(created["registrationId"]?.string)
        let unused = fixture.send(Self.path, json: try device.keyAttempt(.activation).body)
        #expect(unused.outcome == "400 ERR_TEMPORARY_KEY")
    }

    @Test func everyStateWithKeysGetsAKey() throws {
        var (fixture, device) = try BackendFixture.with { try $0.pendingDevice4() }
        #expect(try device.status(in: &fixture).blob.state == .pendingCommit)
        #expect(fixture.cloud("POST", "/v2/registrations/\(device.activationID)/commit", [:]).status == 200)
        for change in ["BLOCK", "UNBLOCK"] {
            let path = "/v2/registrations/\(device.activationID)"
            #expect(fixture.cloud("PUT", path, ["change": .string(change)]).status == 200)
            device.forgetTemporaryKeys()
            #expect(try device.status(in: &fixture).blob.state == (change == "BLOCK" ? .blocked : .active))
        }
    }

    @Test func anEnvelopeOfOneScopeOrPurposeIsNoneOfAnother() throws {
        var (fixture, device) = try BackendFixture.active4()
        var other = try fixture.activeDevice4(user: "bob")
        let right = try device.envelope(.genericActivation, in: &fixture)
        let purposes = Version4.EncryptionPurpose.allCases.filter { $0 != .genericActivation }
        let wrong = try purposes.map { try device.envelope($0, in: &fixture) }
        let foreign = try other.envelope(.genericActivation, in: &fixture)
        let state = try fixture.exportedState()
        let path = Version4.Endpoint.activationStatus.path
        for envelope in wrong + [foreign] {
            let reply = fixture.send("POST", path, headers: [right.header], body: envelope.bytes)
            #expect(reply.outcome == "400 ERR_ACTIVATION")
        }
        let applicationHeader = (
            name: right.header.name, value: wrong.map(\.header.value).min { $0.count < $1.count } ?? ""
        )
        for headers in [[], [foreign.header], [applicationHeader]] as [[HeaderField]] {
            #expect(fixture.send("POST", path, headers: headers, body: right.bytes).status == 400)
        }
        #expect(try fixture.exportedState() == state)
        #expect(fixture.send(path, right).status == 200)
    }
}
