import ExactJSON
import MobileTokenEmulator
import Testing

@Suite struct WholeJobTests {
    @Test(arguments: ProtocolVersion.version3)
    func aDeviceActivatesListsApprovesAndRejects(version: ProtocolVersion) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(version: version) }
        let approved = try fixture.operation()
        let rejected = try fixture.operation("payment")
        #expect(device.operations(in: &fixture).compactMap { $0["id"]?.string } == [rejected.id, approved.id])
        #expect(try device.authorize(approved, in: &fixture).outcome == "200 OK")
        #expect(try device.reject(rejected.id, reason: "INCORRECT_DATA", in: &fixture).outcome == "200 OK")
        #expect(device.operations(in: &fixture).isEmpty)
        #expect(fixture.status(ofOperation: approved.id) == .approved)
        #expect(fixture.status(ofOperation: rejected.id) == .rejected)
        let history = try device.sendSigned("/api/auth/token/app/operation/history", in: &fixture)
        #expect(history.object.array?.compactMap { $0["status"]?.string } == ["REJECTED", "APPROVED"])
        #expect(history.object[0]?["statusReason"] == nil)
        let kept = fixture.cloud("GET", "/v2/operations/\(rejected.id)").json
        #expect(kept["additionalData"]?["rejectReason"] == "INCORRECT_DATA")
    }
}
