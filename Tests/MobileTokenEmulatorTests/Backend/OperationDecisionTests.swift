import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
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
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
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
        var fixture = try BackendFixture()
        var device = try fixture.device(version)
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

    @Test(.wireFact("2.6")) func theFifthFailureMakesTheOperationFail() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let operation = try fixture.operation()
        for attempt in 1...5 {
            let reply = try device.authorize((operation.id, "other data"), in: &fixture)
            #expect(reply.outcome == (attempt < 5 ? "401 OPERATION_FAILED" : "400 OPERATION_ALREADY_FAILED"))
            #expect(reply.counterAfter == UInt64(attempt))
        }
        #expect(fixture.status(ofOperation: operation.id) == .failed)
        #expect(try device.authorize(operation, in: &fixture).outcome == "400 OPERATION_ALREADY_FAILED")
        #expect(fixture.backend.activations[0].failedAttempts == 0)
    }

    /// Of an operation that cannot be decided, real servers say that, and not that the authentication failed.
    @Test(.wireFact("2.6", "4.3")) func failedAuthenticationsCountOnTheOperationToo() throws {
        var fixture = try BackendFixture()
        let operation = try fixture.operation()
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

    @Test func factorsThatTheOperationDoesNotAllowAreRefused() throws {
        let cases: [(template: String, type: SignatureType, outcome: String)] = [
            ("login", .possession, "401 OPERATION_FAILED"), ("login", .possessionBiometry, "200 OK"),
            ("login_1FA", .possession, "200 OK"), ("login_1FA", .possessionKnowledge, "401 OPERATION_FAILED"),
            ("payment_suspicious", .possessionBiometry, "401 OPERATION_FAILED"),
            ("payment_suspicious", .possessionKnowledge, "200 OK"),
        ]
        for (template, type, outcome) in cases {
            var fixture = try BackendFixture()
            var device = try fixture.activeDevice()
            let operation = try fixture.operation(template)
            let reply = try device.authorize(operation, type, in: &fixture)
            #expect(reply.outcome == outcome, "\(template) \(type)")
            #expect(reply.counterAfter == 1)
        }
    }

    @Test func finishedOperationsAreRefusedByTheirState() throws {
        let ends: [(code: String, finish: (String, inout TestDevice, inout BackendFixture) throws -> Void)] = [
            ("OPERATION_ALREADY_FINISHED", { id, device, fixture in _ = try device.reject(id, in: &fixture) }),
            ("OPERATION_ALREADY_CANCELED", { id, _, fixture in _ = fixture.cloud("DELETE", "/v2/operations/\(id)") }),
            ("OPERATION_EXPIRED", { _, _, fixture in fixture.advance(seconds: 300) }),
        ]
        for (code, finish) in ends {
            var fixture = try BackendFixture()
            var device = try fixture.deviceWithToken()
            let operation = try fixture.operation()
            try finish(operation.id, &device, &fixture)
            let detail: JSONValue = ["requestObject": ["id": .string(operation.id)]]
            let path = "/api/auth/token/app/operation/detail"
            #expect(try device.authorize(operation, in: &fixture).outcome == "400 \(code)")
            #expect(try device.reject(operation.id, in: &fixture).outcome == "400 \(code)")
            #expect(device.sendWithToken(path, detail, in: &fixture).outcome == "400 \(code)")
            #expect(device.sendWithToken("\(path)/claim", detail, in: &fixture).outcome == "400 \(code)")
            #expect(
                fixture.cloud("DELETE", "/v2/operations/\(operation.id)").outcome == "400 ERROR_OPERATION_STATE_CHANGE"
            )
        }
    }

    @Test func operationsExpireByThemselves() throws {
        var fixture = try BackendFixture()
        let first = try fixture.operation("payment_suspicious")
        let second = try fixture.operation()
        fixture.now = try #require(fixture.backend.nextDeadline)
        #expect(fixture.milliseconds == 1_800_000_120_000)
        let events = fixture.backend.settle(at: fixture.now)
        #expect(events == [BackendEvent(subject: .operation, id: first.id, status: "EXPIRED")])
        #expect(fixture.status(ofOperation: second.id) == .pending)
        #expect(fixture.backend.nextDeadline?.milliseconds == 1_800_000_300_000)
    }

    @Test(.wireFact("B9")) func anotherUsersOperationIsOutOfReach() throws {
        var fixture = try BackendFixture()
        var stranger = try fixture.deviceWithToken(user: "mallory")
        let operation = try fixture.operation(user: "alice")
        let detail: JSONValue = ["requestObject": ["id": .string(operation.id)]]
        let path = "/api/auth/token/app/operation/detail"
        #expect(stranger.operations(in: &fixture).isEmpty)
        #expect(stranger.sendWithToken(path, detail, in: &fixture).outcome == "400 INVALID_REQUEST")
        #expect(stranger.sendWithToken("\(path)/claim", detail, in: &fixture).outcome == "400 INVALID_OPERATION")
        #expect(try stranger.reject(operation.id, in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(try stranger.authorize(operation, in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(fixture.status(ofOperation: operation.id) == .pending)
    }

    @Test(.wireFact("B9")) func unknownOperationsAreInvalid() throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken()
        #expect(try device.authorize(("nothing", "A2"), in: &fixture).outcome == "400 INVALID_OPERATION")
        #expect(try device.reject("nothing", in: &fixture).outcome == "400 INVALID_OPERATION")
        let detail: JSONValue = ["requestObject": ["id": "nothing"]]
        let path = "/api/auth/token/app/operation/detail"
        #expect(device.sendWithToken(path, detail, in: &fixture).outcome == "400 INVALID_OPERATION")
        #expect(device.sendWithToken("\(path)/claim", detail, in: &fixture).outcome == "400 INVALID_OPERATION")
    }

    @Test func anOperationWithoutAUserIsClaimed() throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken(user: "alice")
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
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken(user: "alice")
        let operation = try fixture.operation(user: nil)
        let decided =
            try isApproved ? device.authorize(operation, in: &fixture) : device.reject(operation.id, in: &fixture)
        #expect(decided.outcome == "200 OK")
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["userId"] == "alice" && kept["status"]?.string == (isApproved ? "APPROVED" : "REJECTED"))
        let history = try device.sendSigned(
            "/api/auth/token/app/operation/history",
            uriID: "/operation/history",
            in: &fixture
        )
        #expect(history.object.array?.map { $0["id"]?.string } == [operation.id])
        // A refused approval makes it nobody's.
        let other = try fixture.operation(user: nil)
        #expect(try device.authorize((other.id, "x"), in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(fixture.cloud("GET", "/v2/operations/\(other.id)").json["userId"] == nil)
    }

    @Test(.wireFact("B11", "B26")) func anOperationForAnotherActivationIsShownAndRejectedButNotApproved() throws {
        var fixture = try BackendFixture()
        let bound = try fixture.deviceWithToken()
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

    @Test func theProximityCodeRotates() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
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
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let operation = try fixture.operation("login_proximity")
        let path = "/v2/operations/\(operation.id)"
        let code = try #require(fixture.cloud("GET", path).json["proximityOtp"])
        var check: JSONObject = ["otp": code, "type": .string(source)]
        let reply = try device.authorize(operation, more: ["proximityCheck": .object(check)], in: &fixture)
        #expect(reply.outcome == "400 INVALID_REQUEST")
        let kept = fixture.cloud("GET", path).json
        #expect((kept["status"]?.string, kept["failureCount"]?.int64) == ("PENDING", 0))
        check["type"] = nil
        let right = try device.authorize(operation, more: ["proximityCheck": .object(check)], in: &fixture)
        #expect(right.outcome == "200 OK")
    }

    @Test(.wireFact("B12", "B13")) func rejectingTakesPossessionAloneAndPerhapsAReason() throws {
        var fixture = try BackendFixture()
        var device = try fixture.activeDevice()
        let operation = try fixture.operation()
        let refused = try device.reject(operation.id, .possessionKnowledge, in: &fixture)
        #expect(refused.outcome == "401 POWERAUTH_AUTH_FAIL")
        let unexplained = try fixture.operation()
        let path = "/api/auth/token/app/operation/cancel"
        let named: JSONValue = ["requestObject": ["id": .string(unexplained.id)]]
        let withoutReason = try device.sendSigned(path, uriID: "/operation/cancel", .possession, named, in: &fixture)
        #expect(withoutReason.outcome == "200 OK")
        let decided = fixture.cloud("GET", "/v2/operations/\(unexplained.id)").json
        #expect(decided["status"] == "REJECTED" && decided["additionalData"]?["rejectReason"] == nil)
        #expect(try device.reject(operation.id, reason: "POSSIBLE_FRAUD", in: &fixture).outcome == "200 OK")
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["status"]?.string == "REJECTED")
        #expect(kept["additionalData"]?["rejectReason"]?.string == "POSSIBLE_FRAUD")
        #expect(kept["statusReason"] == nil)
    }

    @Test(.wireFact("4.3")) func flagsAndRegistrationsNarrowWhoDecides() throws {
        var fixture = try BackendFixture()
        var plain = try fixture.deviceWithToken()
        var flagged = try fixture.deviceWithToken(flags: ["VIP"])
        let forVIPs = try fixture.operation("login", ["activationFlag": "VIP"])
        let forOne = try fixture.operation("login", ["registrationId": .string(flagged.activationID)])
        #expect(plain.operations(in: &fixture).isEmpty)
        #expect(flagged.operations(in: &fixture).count == 2)
        let refused = try plain.authorize(forVIPs, in: &fixture)
        #expect(refused.outcome == "400 OPERATION_REQUIRES_ACTIVATION_FLAG")
        #expect(try plain.reject(forVIPs.id, in: &fixture).outcome == "400 OPERATION_REQUIRES_ACTIVATION_FLAG")
        #expect(self.failures(of: forVIPs.id, fixture) == 0)
        #expect(try plain.authorize(forOne, in: &fixture).outcome == "401 OPERATION_FAILED")
        #expect(try flagged.authorize(forVIPs, in: &fixture).outcome == "200 OK")
        #expect(try flagged.authorize(forOne, in: &fixture).outcome == "200 OK")
    }

    @Test(.wireFact("B15"), arguments: ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"])
    func aDeviceUnderVerificationApprovesNothing(flag: String) throws {
        var fixture = try BackendFixture()
        var device = try fixture.deviceWithToken(flags: [flag])
        let operation = try fixture.operation()
        let refused = try device.authorize(operation, in: &fixture)
        #expect(refused.outcome == "401 POWERAUTH_AUTH_FAIL")
        #expect(refused.verdict == .refused(reason: "the activation has the flag \(flag)"))
        #expect(fixture.status(ofOperation: operation.id) == .pending)
        #expect(self.failures(of: operation.id, fixture) == 0)
        let token: JSONValue = ["requestObject": ["platform": "apns", "token": "t"]]
        let push = device.sendWithToken("/api/push/device/register/token", token, in: &fixture)
        #expect(push.outcome == "200 OK")
        #expect(try device.reject(operation.id, in: &fixture).outcome == "200 OK")
    }
}
