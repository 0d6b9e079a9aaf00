import ExactJSON
import PowerAuthCrypto
import Testing
import WireFacts

@testable import EmulatorBackend
@testable import MobileTokenEmulator

@Suite struct OfflineTests {
    /// The content that a device reads out of the code, and the code that it types in the end.
    private struct Scanned {
        let lines: [String]
        let nonce: String

        func code(
            _ device: inout TestDevice,
            _ type: SignatureType = .possessionKnowledge,
            totp: String? = nil,
            digits: Int = 8
        ) throws -> String {
            let data = try SignatureData.offline((self.lines[0], self.lines[3]), proximityCode: totp, nonce: self.nonce)
            return try device.offlineCode(data, type, digits: digits)
        }
    }

    private func scan(
        _ id: String,
        registration: String?,
        signedBy key: P256PublicKey,
        _ fixture: inout BackendFixture
    ) throws -> Scanned {
        let query = registration.map { "registrationId=\($0)" } ?? ""
        let json = fixture.cloud("GET", "/v2/operations/\(id)/offline/qr", query: query).json
        let text = try #require(json["operationQrCodeData"]?.string)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let last = try #require(lines.last)
        let signature = try #require(Base64.decode(String(last.dropFirst())))
        let signed = Array(text.utf8.dropLast(last.utf8.count - 1))
        #expect(key.isValid(derSignature: signature, for: signed))
        #expect(last.first == (registration == nil ? "0" : "1"))
        let nonce = try #require(json["nonce"]?.string)
        #expect(lines[lines.count - 2] == nonce)
        return Scanned(lines: lines, nonce: nonce)
    }

    private func verify(
        _ id: String,
        _ code: String,
        _ scanned: Scanned,
        _ device: TestDevice,
        _ fixture: inout BackendFixture
    ) -> Reply {
        let request: JSONValue = [
            "otp": .string(code), "nonce": .string(scanned.nonce), "registrationId": .string(device.activationID),
        ]
        return fixture.cloud("POST", "/v2/operations/\(id)/offline/otp", request)
    }

    @Test func aPersonalisedCodeIsApproved() throws {
        var (fixture, device) = try BackendFixture.with { try $0.activeDevice(flags: ["VIP"]) }
        let operation = try fixture.operation("payment")
        let serverKey = try #require(device.serverKey)
        let scanned = try self.scan(
            operation.id,
            registration: device.activationID,
            signedBy: serverKey,
            &fixture
        )
        for malformed in ["no code", "1234-", "-1234", "12345678--12345678", "١٢٣٤٥٦٧٨-١٢٣٤٥٦٧٨"] {
            #expect(self.verify(operation.id, malformed, scanned, device, &fixture).outcome == "400 ERROR_OTP_INVALID")
        }
        #expect(scanned.lines.count == 7)
        #expect(
            scanned.lines[..<5] == [
                operation.id, "Confirm Payment", "Please confirm the following payment:",
                operation.data, "BX",
            ]
        )
        let code = try scanned.code(&device)
        #expect(
            self.verify(operation.id, code, scanned, device, &fixture).json == [
                "otpValid": true, "userId": "alice", "registrationId": .string(device.activationID),
                "registrationStatus": "ACTIVE", "signatureType": "POSSESSION_KNOWLEDGE", "remainingAttempts": 5,
                "flags": ["VIP"], "application": ["id": "mobile-token", "roles": []],
            ]
        )
        #expect(fixture.status(ofOperation: operation.id) == .approved)
        let decided = fixture.cloud("GET", "/v2/operations/\(operation.id)/offline/qr")
        #expect(decided.outcome == "400 ERROR_OPERATION_STATE_CHANGE")
        let again = self.verify(operation.id, code, scanned, device, &fixture)
        #expect(again.outcome == "400 ERROR_OPERATION_STATE_CHANGE")
    }

    @Test(.wireFact("2.7"), arguments: 4...8) func theServerSaysHowLongACodeIs(digits: Int) throws {
        var fixture = try BackendFixture { $0.limits.offlineCodeDigits = digits }
        var device = try fixture.activeDevice()
        let operation = try fixture.operation("payment")
        let serverKey = try #require(device.serverKey)
        let scanned = try self.scan(operation.id, registration: device.activationID, signedBy: serverKey, &fixture)
        let longer = try scanned.code(&device, digits: digits == 8 ? 7 : digits + 1)
        #expect(self.verify(operation.id, longer, scanned, device, &fixture).json["otpValid"] == false)
        let code = try scanned.code(&device, digits: digits)
        #expect(code.utf8.count == 2 * digits + 1)
        #expect(self.verify(operation.id, code, scanned, device, &fixture).json["otpValid"] == true)
    }

    @Test func aCodeForAnyoneIsApprovedByWhoeverProvesIt() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation("login_proximity", user: nil)
        let masterKey = try device.masterKey
        let scanned = try self.scan(operation.id, registration: nil, signedBy: masterKey, &fixture)
        #expect(scanned.lines.count == 8)
        fixture.advance(seconds: 30)
        let code = try scanned.code(&device, .possessionBiometry, totp: scanned.lines[5])
        let answer = self.verify(operation.id, code, scanned, device, &fixture).json
        #expect(answer["otpValid"] == true)
        #expect(answer["signatureType"]?.string == "POSSESSION_BIOMETRY")
        let kept = fixture.cloud("GET", "/v2/operations/\(operation.id)").json
        #expect(kept["status"]?.string == "APPROVED")
        #expect(kept["userId"]?.string == "alice")
    }

    @Test func wrongCodesAreCountedUntilNothingIsLeft() throws {
        var (fixture, device) = try BackendFixture.active()
        let operation = try fixture.operation("login", ["maxFailureCount": 100])
        let serverKey = try #require(device.serverKey)
        let scanned = try self.scan(operation.id, registration: device.activationID, signedBy: serverKey, &fixture)
        for remaining in [4, 3, 2, 1, 0] {
            let answer = self.verify(operation.id, "00000000-00000000", scanned, device, &fixture).json
            #expect(answer["otpValid"] == false)
            #expect(answer["remainingAttempts"]?.int64 == Int64(remaining))
            #expect(answer["registrationStatus"]?.string == (remaining > 0 ? "ACTIVE" : "BLOCKED"))
        }
        let state = try fixture.exportedState()
        let right = self.verify(operation.id, try scanned.code(&device), scanned, device, &fixture).json
        #expect(right["otpValid"] == false)
        #expect(try fixture.exportedState() == state)
    }

    @Test func anotherNonceOrUserIsRefused() throws {
        var (fixture, device) = try BackendFixture.active()
        let stranger = try fixture.activeDevice(user: "mallory")
        let operation = try fixture.operation()
        let serverKey = try #require(device.serverKey)
        let scanned = try self.scan(operation.id, registration: device.activationID, signedBy: serverKey, &fixture)
        let code = try scanned.code(&device)
        let otherNonce = Scanned(lines: scanned.lines, nonce: Base64.encode([UInt8](repeating: 0, count: 16)))
        #expect(self.verify(operation.id, code, otherNonce, device, &fixture).json["otpValid"] == false)
        #expect(self.verify(operation.id, code, scanned, stranger, &fixture).outcome == "400 ERROR_REGISTRATION")
        let short = Scanned(lines: scanned.lines, nonce: "AAAA")
        #expect(self.verify(operation.id, code, short, device, &fixture).outcome == "400 ERROR_REQUEST")
        #expect(self.verify(operation.id, code, scanned, device, &fixture).json["otpValid"] == true)
        #expect(fixture.backend.activations.last?.failedAttempts == 0)
    }

    @Test func anOperationForPossessionAloneHasNoOfflineForm() throws {
        var (fixture, device) = try BackendFixture.active()
        let id = try fixture.operation("login_1FA").id
        #expect(fixture.cloud("GET", "/v2/operations/\(id)/offline/qr").outcome == "400 ERROR_REQUEST")
        let request: JSONValue = [
            "otp": "00000000", "nonce": "AAAAAAAAAAAAAAAAAAAAAA==", "registrationId": .string(device.activationID),
        ]
        let state = try fixture.exportedState()
        #expect(fixture.cloud("POST", "/v2/operations/\(id)/offline/otp", request).outcome == "400 ERROR_REQUEST")
        #expect(try fixture.exportedState() == state)
    }

    /// In quadratic time it would be half an hour.
    @Test(.timeLimit(.minutes(5))) func dataOfNothingButSeparatorsAreRefusedInLinearTime() {
        let data = "A1" + String(repeating: "*", count: 5_000_000)
        #expect(OfflineText.objection(toData: data) == "the data have more than five fields")
    }

    @Test func textsKeepTheirLineBreaksInOneLine() throws {
        var (fixture, device) = try BackendFixture.active()
        let request: JSONValue = [
            "userId": "alice", "operationType": "custom", "data": "A1*Tx",
            "formData": ["title": "a\\b", "message": "two\nlines\r\nthree", "attributes": []],
        ]
        let id = try #require(fixture.cloud("POST", "/v2/operations", request).json["operationId"]?.string)
        let serverKey = try #require(device.serverKey)
        let scanned = try self.scan(id, registration: device.activationID, signedBy: serverKey, &fixture)
        #expect(scanned.lines[1] == #"a\\b"#)
        #expect(scanned.lines[2] == #"two\nlines\nthree"#)
    }
}

extension SignatureData {
    /// The data that a device signs to approve without a network.
    static func offline(_ operation: (id: String, data: String), proximityCode: String? = nil, nonce: String) throws
        -> Self
    {
        let body = [operation.id, operation.data, proximityCode].compactMap(\.self).joined(separator: "&")
        let nonce = try #require(Base64.decode(nonce))
        return Self(method: "POST", uriID: "/operation/authorize/offline", nonce: nonce, body: Array(body.utf8))
    }
}
