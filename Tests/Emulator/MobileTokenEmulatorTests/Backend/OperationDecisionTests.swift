import ExactJSON
import Foundation
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// Approving and rejecting, and what stands in the way.
@Suite struct OperationDecisionTests {
    private static let bodyless = "/api/auth/token/app/operation/authorize"

    private func failures(of id: String, _ fixture: BackendFixture) -> Int? {
        fixture.backend.operations(at: .now).first { $0.id == id }?.failureCount
    }

    @Test func approvalKeepsWhatTheDeviceSentAlong() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation()
        let sent = try JSONValue(parsing: #"{"test1":1,"test2":2.30,"test4":{"nested":true}}"#)
        let reply = try device.authorize(operation, more: ["mobileTokenData": sent], in: &fixture)
        #expect(reply.outcome == "200 OK")
        #expect(reply.verdict == .accepted)
        #expect(reply.events.contains(BackendEvent(subject: .operation, id: operation.id, status: "APPROVED")))
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["status"]?.string == "APPROVED")
        #expect(kept["additionalData"]?["mobileTokenData"] == sent)
        #expect(kept["additionalData"]?["mobileTokenData"]?["test2"]?.number?.literal == "2.30")
        #expect(kept["additionalData"]?["authFactor"]?.string == "possession_knowledge")
    }

    @Test(arguments: MajorVersion.allCases)
    func aWrongPasswordLeavesTheOperationPendingAndCounts(version: MajorVersion) throws {
        var (fixture, device) = try BackendFixture.active(version)
        let operation = try fixture.operation()
        func authorize() throws -> String {
            let body: JSONValue = ["requestObject": ["id": .string(operation.id), "data": .string(operation.data)]]
            return try device.sendSigned(
                Self.bodyless,
                uriID: "/operation/authorize",
                .possessionKnowledge,
                body,
                in: &fixture
            )
            .outcome
        }
        device.isMistyping = true
        #expect(try authorize() == "401 POWERAUTH_AUTH_FAIL")
        #expect(fixture.status(ofOperation: operation.id) == .pending)
        #expect(self.failures(of: operation.id, fixture) == 1)
        device.isMistyping = false
        #expect(try authorize() == "200 OK")
    }

    /// Of an operation that cannot be decided, real servers say that, and not that the authentication failed.
    @Test(.wireFact("2.6", "4.3")) func failedAuthenticationsCountOnTheOperationToo() throws {
        var (fixture, operation) = try BackendFixture.with { try $0.operation() }
        let body: JSONValue = ["requestObject": ["id": .string(operation.id), "data": .string(operation.data)]]
        for attempt in 1...5 {
            let reply = fixture.send(Self.bodyless, json: body)
            #expect(reply.outcome == (attempt < 5 ? "401 POWERAUTH_AUTH_FAIL" : "400 OPERATION_ALREADY_FAILED"))
        }
        let state = try fixture.exportedState()
        let finished = fixture.send(Self.bodyless, json: body)
        #expect(finished.outcome == "400 INVALID_OPERATION")
        let reason = "the operation is FAILED, and the header X-PowerAuth-Authorization is missing"
        #expect(finished.verdict == .refused(reason: reason))
        let unknown: JSONValue = ["requestObject": ["id": "nothing", "data": "A"]]
        #expect(fixture.send(Self.bodyless, json: unknown).outcome == "400 INVALID_OPERATION")
        for unnamed: JSONValue in [["requestObject": .null], ["requestObject": ["data": "A"]], [:]] {
            #expect(fixture.send(Self.bodyless, json: unnamed).outcome == "401 POWERAUTH_AUTH_FAIL")
        }
        #expect(try fixture.exportedState() == state)
    }

    @Test func operationsExpireByThemselves() throws {
        var (fixture, first) = try BackendFixture.with { try $0.operation("payment_suspicious") }
        let second = try fixture.operation()
        fixture.now = try #require(fixture.backend.nextDeadline)
        #expect(fixture.milliseconds == 1_800_000_120_000)
        var event = BackendEvent(subject: .operation, id: first.id, status: "EXPIRED")
        event.isTold = false
        #expect(fixture.backend.settle(at: fixture.now) == [event])
        #expect(fixture.status(ofOperation: second.id) == .pending)
        // The bank is told by a task that looks every five seconds.
        fixture.now = try #require(fixture.backend.nextDeadline)
        #expect(fixture.milliseconds == 1_800_000_125_000)
        (event.isTold, event.isChange) = (true, false)
        #expect(fixture.backend.settle(at: fixture.now) == [event])
        #expect(fixture.backend.nextDeadline?.milliseconds == 1_800_000_300_000)
    }

    @Test(.wireFact("5")) func theBankIsToldOfAHundredThatExpiredAtATime() throws {
        var fixture = try BackendFixture()
        for _ in 0..<250 { _ = try fixture.operation() }
        fixture.advance(seconds: 300)
        #expect(fixture.backend.settle(at: fixture.now).count == 250)
        let told = (1...4).map { _ in
            fixture.advance(seconds: 5)
            return fixture.backend.settle(at: fixture.now).count
        }
        #expect(told == [100, 100, 50, 0])
    }

    @Test func anOperationWithoutAUserIsClaimed() throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(user: "alice") }
        let other = try fixture.deviceWithToken(user: "bob")
        let operation = try fixture.operation(user: nil)
        let detail: JSONValue = ["requestObject": ["id": .string(operation.id)]]
        let path = "/api/auth/token/app/operation/detail"
        #expect(device.operations(in: &fixture).isEmpty)
        #expect(device.sendWithToken(path, detail, in: &fixture).object["id"]?.string == operation.id)
        let claimed = device.sendWithToken("\(path)/claim", detail, in: &fixture)
        #expect(claimed.outcome == "200 OK")
        #expect(claimed.events.map(\.isTold) == [false])
        #expect(device.operations(in: &fixture).count == 1)
        let state = try fixture.exportedStateBesidesReplays()
        #expect(other.sendWithToken("\(path)/claim", detail, in: &fixture).outcome == "400 INVALID_OPERATION")
        #expect(device.sendWithToken("\(path)/claim", detail, in: &fixture).outcome == "200 OK")
        #expect(try fixture.exportedStateBesidesReplays() == state)
        #expect(try device.authorize(operation, in: &fixture).outcome == "200 OK")
    }

    /// Nobody has to claim an operation before deciding it, and a flag or another application does not hide it from `detail`.
    @Test(.wireFact("B10", "B26"), arguments: [true, false])
    func anOperationOfNobodyBecomesThatOfWhoDecides(isApproved: Bool) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(user: "alice") }
        let operation = try fixture.operation(user: nil)
        let decided =
            try isApproved ? device.authorize(operation, in: &fixture) : device.reject(operation.id, in: &fixture)
        #expect(decided.outcome == "200 OK")
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["userId"] == "alice" && kept["status"]?.string == (isApproved ? "APPROVED" : "REJECTED"))
        let history = try device.sendSigned("/api/auth/token/app/operation/history", in: &fixture)
        #expect(history.object.array?.map { $0["id"]?.string } == [operation.id])
        // A refused approval makes it nobody's.
        let other = try fixture.operation(user: nil)
        #expect(try device.authorize((other.id, "x"), in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(fixture.cloud("GET", "/v2/operations/\(other.id)").json["userId"] == nil)
    }

    @Test func theProximityCodeRotates() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation("login_proximity", ["maxFailureCount": 100])
        func code() throws -> String {
            try #require(fixture.cloud("GET", "/v2/operations/\(operation.id)").json["proximityOtp"]?.string)
        }
        func authorize(_ code: String?) throws -> String {
            var more: JSONObject = [:]
            more["proximityCheck"] = code.map { ["otp": .string($0), "type": "QR_CODE"] }
            return try device.authorize(operation, more: more, in: &fixture).outcome
        }
        let first = try code()
        #expect(first.count == 8)
        #expect(try authorize(nil) == "401 OPERATION_FAILED")
        #expect(try authorize("00000000") == "401 OPERATION_FAILED")
        fixture.advance(seconds: 60)
        #expect(try code() != first)
        #expect(try authorize(first) == "401 OPERATION_FAILED")
        let second = try code()
        fixture.advance(seconds: 30)
        #expect(try authorize(second) == "200 OK")
        #expect(fixture.cloud("GET", "/v2/operations/\(operation.id)").json["proximityOtp"] == nil)
    }

    @Test(.wireFact("3.3"), arguments: ["NFC", ""]) func aProximityCodeOfNoKnownSourceIsInvalid(source: String) throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation("login_proximity")
        let path = "/v2/operations/\(operation.id)"
        let code = try #require(fixture.cloud("GET", path).json["proximityOtp"])
        var check: JSONObject = ["otp": code, "type": .string(source)]
        let reply = try device.authorize(operation, more: ["proximityCheck": .object(check)], in: &fixture)
        #expect(reply.outcome == "500 ERROR_GENERIC")
        let kept = fixture.cloud("GET", path).json
        #expect((kept["status"]?.string, kept["failureCount"]?.int64) == ("PENDING", 0))
        check["type"] = nil
        let right = try device.authorize(operation, more: ["proximityCheck": .object(check)], in: &fixture)
        #expect(right.outcome == "200 OK")
    }

    @Test(.wireFact("B12", "B13")) func rejectingTakesPossessionAloneAndPerhapsAReason() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation()
        let refused = try device.reject(operation.id, .possessionKnowledge, in: &fixture)
        #expect(refused.outcome == "401 POWERAUTH_AUTH_FAIL")
        let unexplained = try fixture.operation()
        let path = "/api/auth/token/app/operation/cancel"
        let named: JSONValue = ["requestObject": ["id": .string(unexplained.id)]]
        let withoutReason = try device.sendSigned(path, uriID: "/operation/cancel", .possession, named, in: &fixture)
        #expect(withoutReason.outcome == "200 OK")
        let decided = fixture.cloud("GET", "/v2/operations/\(unexplained.id)").json
        #expect(decided["status"] == "REJECTED" && decided["additionalData"]?["rejectReason"] == .null)
        #expect(try device.reject(operation.id, reason: "POSSIBLE_FRAUD", in: &fixture).outcome == "200 OK")
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["status"]?.string == "REJECTED")
        #expect(kept["additionalData"]?["rejectReason"]?.string == "POSSIBLE_FRAUD")
        #expect(kept["statusReason"] == nil)
    }

    @Test(.wireFact("4.3")) func flagsAndRegistrationsNarrowWhoDecides() throws {
        var (fixture, plain) = try BackendFixture.withToken()
        var flagged = try fixture.deviceWithToken(flags: ["VIP"])
        let forVIPs = try fixture.operation("login", ["activationFlag": "VIP"])
        let forOne = try fixture.operation("login", ["registrationId": .string(flagged.activationID)])
        // A device without flags sees those for any flag: "list: activation with no flags, operations of no flag, A, B".
        #expect(plain.operations(in: &fixture).map { $0["id"] } == [.string(forVIPs.id)])
        #expect(flagged.operations(in: &fixture).count == 2)
        #expect(try plain.authorize(forVIPs, in: &fixture).outcome == "400 OPERATION_REQUIRES_ACTIVATION_FLAG")
        #expect(try plain.reject(forVIPs.id, in: &fixture).outcome == "400 OPERATION_REQUIRES_ACTIVATION_FLAG")
        #expect(self.failures(of: forVIPs.id, fixture) == 0)
        #expect(try plain.authorize(forOne, in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(try flagged.authorize(forVIPs, in: &fixture).outcome == "200 OK")
        #expect(try flagged.authorize(forOne, in: &fixture).outcome == "200 OK")
    }

    @Test(.wireFact("B15"), arguments: ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"])
    func aDeviceUnderVerificationApprovesNothing(flag: String) throws {
        var (fixture, device) = try BackendFixture.with { try $0.deviceWithToken(flags: [flag]) }
        let operation = try fixture.operation()
        let refused = try device.authorize(operation, in: &fixture)
        #expect(refused.outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(refused.verdict == .refused(reason: "the activation has the flag \(flag)"))
        #expect(fixture.status(ofOperation: operation.id) == .pending)
        #expect(self.failures(of: operation.id, fixture) == 0)
        let token: JSONValue = ["requestObject": ["platform": "apns", "token": "t"]]
        #expect(device.sendWithToken("/api/push/device/register/token", token, in: &fixture).outcome == "200 OK")
        #expect(try device.reject(operation.id, in: &fixture).outcome == "200 OK")
    }

    @Test(.wireFact("B11", "B26")) func anOperationForAnotherActivationIsShownAndRejectedButNotApproved() throws {
        var (fixture, bound) = try BackendFixture.withToken()
        var other = try fixture.deviceWithToken()
        let operation = try fixture.operation("login", ["registrationId": .string(bound.activationID)])
        let detail: JSONValue = ["requestObject": ["id": .string(operation.id)]]
        #expect(other.operations(in: &fixture).isEmpty)
        let shown = other.sendWithToken("/api/auth/token/app/operation/detail", detail, in: &fixture)
        #expect(shown.object["id"]?.string == operation.id)
        #expect(try other.authorize(operation, in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(try other.reject(operation.id, in: &fixture).outcome == "200 OK")
        #expect(fixture.status(ofOperation: operation.id) == .rejected)
    }
}
