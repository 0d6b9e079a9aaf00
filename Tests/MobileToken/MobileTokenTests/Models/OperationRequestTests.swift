import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import PowerAuth
import Testing
import WireFacts

@Suite struct OperationRequestTests {
    private func text(_ body: [UInt8]) -> String { String(decoding: body, as: UTF8.self) }

    @Test func anAuthorizationSendsTheDataExactlyAsTheyCame() throws {
        let data = "A1*A100CZK*é\u{301}\"\\/\u{1F600}\t"
        let body = try OperationRequest.authorize(
            LocalOperation(id: "1", data: data),
            sent: Date(timeIntervalSince1970: 0)
        ) {
            $0
        }
        #expect(self.text(body) == #"{"requestObject":{"id":"1","data":"A1*A100CZK*é"# + "\u{301}" + #"\"\\/😀\t"}}"#)
        let sent = try #require(try JSONValue(parsing: body)["requestObject"]?["data"]?.string)
        #expect(Array(sent.utf8) == Array(data.utf8))
    }

    @Test func anAuthorizationCarriesTheProximityCheckAndData() throws {
        let operation = LocalOperation(
            id: "1",
            data: "A1",
            proximityCheck: UserOperation.ProximityCheck(
                totp: "12345678",
                source: .qrCode,
                received: Date(timeIntervalSince1970: 1_530_542_593.9)
            ),
            mobileTokenData: ["screens": [["id": "s1", "ms": 1200]]]
        )
        let body = try OperationRequest.authorize(operation, sent: Date(timeIntervalSince1970: 1_530_542_600)) { _ in
            .distantPast
        }
        #expect(
            try JSONValue(parsing: body) == [
                "requestObject": [
                    "id": "1", "data": "A1",
                    "proximityCheck": [
                        "otp": "12345678", "type": "QR_CODE", "timestampReceived": "2018-07-02T14:43:13+0000",
                        "timestampSent": "2018-07-02T14:43:20+0000",
                    ],
                    "mobileTokenData": ["screens": [["id": "s1", "ms": 1200]]],
                ]
            ]
        )
    }

    @Test(.wireFact("2.3"), arguments: [(-3_600, "14:43:13"), (-3_600 + 60, "14:43:20")] as [(TimeInterval, String)])
    func theTimeOfACodeByTheLocalClockIsCorrected(local: TimeInterval, received: String) throws {
        let arrived = Date(timeIntervalSince1970: 1_530_542_593)
        let check = UserOperation.ProximityCheck(totp: "12345678", source: .qrCode, localDate: arrived + local)
        let operation = LocalOperation(id: "1", data: "A1", proximityCheck: check)
        // The local clock is an hour behind; set forward meanwhile, it would name a moment that is still to come.
        let body = try OperationRequest.authorize(operation, sent: arrived + 7) { $0 + 3_600 }
        let sent = try JSONValue(parsing: body)["requestObject"]?["proximityCheck"]
        #expect(sent?["timestampReceived"]?.string == "2018-07-02T\(received)+0000")
        #expect(sent?["timestampSent"]?.string == "2018-07-02T14:43:20+0000")
    }

    @Test(arguments: [
        (UserOperation.RejectionReason.unknown, "UNKNOWN"), (.incorrectData, "INCORRECT_DATA"),
        (.unexpectedOperation, "UNEXPECTED_OPERATION"), (.preApproval, "PREAPPROVAL"),
        ("POSSIBLE_FRAUD", "POSSIBLE_FRAUD"),
    ])
    func rejectionsSendTheirReason(reason: UserOperation.RejectionReason, text: String) throws {
        let operation = LocalOperation(id: "1", data: "A1")
        let body = try OperationRequest.reject(operation, reason: reason)
        #expect(self.text(body) == #"{"requestObject":{"id":"1","reason":"\#(text)"}}"#)
        var told = operation
        told.mobileTokenData = ["a": 1]
        #expect(
            try self.text(OperationRequest.reject(told, reason: reason))
                == #"{"requestObject":{"id":"1","reason":"\#(text)","mobileTokenData":{"a":1}}}"#
        )
    }

    @Test func theOtherRequestsAreEnvelopesToo() throws {
        #expect(self.text(OperationRequest.empty) == "{}")
        #expect(try self.text(OperationRequest.id("a\"b")) == #"{"requestObject":{"id":"a\"b"}}"#)
        #expect(
            self.text(OperationRequest.inboxPage(0, size: 100, onlyUnread: false))
                == #"{"requestObject":{"page":0,"size":100,"onlyUnread":false}}"#
        )
        #expect(
            try self.text(OperationRequest.pushRegistration(.init(platform: .apns, token: "5FBC"), at: nil))
                == #"{"requestObject":{"platform":"apns","token":"5FBC"}}"#
        )
    }

    private static let given: [@Sendable (String) throws -> [UInt8]] = [
        { try OperationRequest.id($0) },
        { try OperationRequest.reject(LocalOperation(id: "1", data: "A1"), reason: .init(rawValue: $0)) },
        { text in
            var operation = LocalOperation(id: "1", data: "A1")
            operation.mobileTokenData = ["a": [["b": .string(text)]]]
            return try OperationRequest.reject(operation, reason: .unknown)
        },
        { text in
            var operation = LocalOperation(id: "1", data: "A1")
            operation.mobileTokenData = ["a": .object(JSONObject([.init(key: text, value: 1)]))]
            return try OperationRequest.authorize(operation, sent: .now) { $0 }
        },
        { text in
            var operation = LocalOperation(id: "1", data: "A1")
            operation.proximityCheck = .init(totp: text, source: .qrCode, received: .now)
            return try OperationRequest.authorize(operation, sent: .now) { $0 }
        },
        { try OperationRequest.pushRegistration(.init(platform: .fcm, token: $0), at: nil) },
        { try OperationRequest.pushRegistration(.init(platform: .init($0), token: "t"), at: nil) },
        { try OperationRequest.pushRegistration(.init(platform: .apns, token: "t", environment: .init($0)), at: nil) },
    ]

    /// DEFECTS3: databases of servers cannot keep the character, and a request with it fails there without a word.
    @Test(arguments: Self.given.indices) func aTextWithTheCharacterNULIsNotSent(_ index: Int) throws {
        _ = try Self.given[index]("a b")
        let error = #expect(throws: MobileTokenError.self) { _ = try Self.given[index]("a\0b") }
        #expect(error?.code == .invalidRequest)
        // Members that the server sent go back as they came.
        _ = try OperationRequest.authorize(LocalOperation(id: "1\0", data: "A1\0"), sent: .now) { $0 }
    }
}
