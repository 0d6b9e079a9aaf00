import ExactJSON
import Foundation
import HTTPClientTransport
import MobileTokenTesting
import Testing
import WireFacts

/// The client at a server that says what the documentation of PowerAuth Cloud has, and at others that should not be believed.
@Suite(.wireFact("6.1", "6.2")) struct ScriptedAnswerTests {
    /// The members that the documentation shows, and one of a later edition.
    static let operation = #"""
        {"operationId": "7", "userId": "alice", "status": "PENDING", "operationType": "authorize_payment",
        "parameters": {"amount": "63.99"}, "failureCount": 0, "maxFailureCount": 5,
        "timestampCreated": 1767225600000, "timestampExpires": 1767225900250, "later": {"a": 1}}
        """#
    static let date = "Thu, 01 Jan 2026 00:00:07 GMT"

    static func refusal(_ code: String, _ more: String = "") -> String {
        #"{"status": "ERROR", "responseObject": {"code": "\#(code)", "message": "words"\#(more)}}"#
    }

    // MARK: Requests

    @Test func aCreationSendsTheDocumentedMembersAlone() async throws {
        let transport = ScriptedTransport(.json(200, Self.operation, headers: ["Date": Self.date]))
        let client = try CloudClient(transport)
        var request = CloudClient.NewOperation(template: "payment", userID: "alice", parameters: ["amount": "63.99"])
        (request.language, request.externalID, request.flag, request.isSilent) = ("cs", "E", "VIP", true)
        request.expires = Date(timeIntervalSince1970: 1_767_225_900.25)
        request.demandsProximityCheck = false
        let operation = try await client.createOperation(request)
        #expect(operation.id == "7" && operation.status == .pending && operation.userID == "alice")
        #expect(operation.parameters == ["amount": "63.99"] && operation.maximumFailureCount == 5)
        #expect(operation.created.timeIntervalSince1970 == 1_767_225_600)
        #expect(operation.expires == request.expires)
        #expect(operation.date?.timeIntervalSince1970 == 1_767_225_607)
        #expect(operation.json["later"]?["a"] == 1)
        #expect(operation.data == nil && operation.finalized == nil && operation.additionalData == nil)

        let sent = try #require(transport.requests.first)
        #expect(sent.method == .post && !sent.isRepeatable)
        #expect(sent.url == "https://cloud.example.com/powerauth-cloud/v2/operations")
        #expect(sent.headers["Authorization"] == "Basic YmFuazpzZWNyZXQ=")
        #expect(sent.headers["Content-Type"] == "application/json")
        // `no-store` alone lets a cache answer from what it has already (RFC 9111 § 5.2.1.5).
        #expect(sent.headers["Cache-Control"] == "no-cache, no-store")
        #expect(sent.timeout == .seconds(20))
        let body: JSONValue = [
            "userId": "alice", "template": "payment", "parameters": ["amount": "63.99"], "language": "cs",
            "timestampExpires": 1_767_225_900_250, "proximityCheckEnabled": false, "flag": "VIP", "silent": true,
            "externalId": "E",
        ]
        #expect(try JSONValue(parsing: sent.body ?? []) == body)
    }

    @Test func pathsAndQueriesHoldAnyIdentifier() async throws {
        let transport = ScriptedTransport(
            .json(200, Self.operation.replacing(#""7""#, with: #""a/b?ü""#)),
            .json(200, #"{"operationQrCodeData": "1\n2\n3\nA1", "nonce": "AAAA"}"#)
        )
        let client = try CloudClient(transport)
        #expect(try await client.cancelOperation("a/b?ü", reason: "lost & found").id == "a/b?ü")
        #expect(try await client.offlineCode(operation: "7", registration: "r+").nonce == "AAAA")
        let paths = transport.requests.map { $0.url.replacing("https://cloud.example.com/powerauth-cloud", with: "") }
        #expect(
            paths == [
                "/v2/operations/a%2Fb%3F%C3%BC?statusReason=lost%20%26%20found",
                "/v2/operations/7/offline/qr?registrationId=r%2B",
            ]
        )
        #expect(transport.requests.map(\.method) == [.delete, .get])
        #expect(transport.requests.map(\.isRepeatable) == [false, true])
    }

    @Test(arguments: ["", ".", "..", String(repeating: "x", count: 256)])
    func anIdentifierThatIsNoneNeverLeaves(_ id: String) async throws {
        let transport = ScriptedTransport()
        let client = try CloudClient(transport)
        let error = try await cloudError { try await client.cancelOperation(id) }
        #expect(error.code == .invalidRequest && !error.isOutcomeUnknown && transport.requests.isEmpty)
    }

    @Test func aTextWithTheCharacterNULNeverLeaves() async throws {
        let transport = ScriptedTransport()
        let client = try CloudClient(transport)
        for call: () async throws -> Void in [
            { _ = try await client.cancelOperation("a\0") },
            { _ = try await client.cancelOperation("a", reason: "b\0") },
            { _ = try await client.createMessage(.init(userID: "a", subject: "s", summary: "s", body: "b\0")) },
        ] {
            let error = try await cloudError { try await call() }
            #expect(error.code == .invalidRequest && !error.isOutcomeUnknown && transport.requests.isEmpty)
        }
    }

    // MARK: Refusals

    private static let codes: [(Int, String, CloudError.Code)] = [
        (401, "HTTP_401", .unauthorized), (401, "ERROR_UNAUTHORIZED", .unauthorized),
        (400, "ERROR_REQUEST", .invalidRequest), (400, "ERROR_REGISTRATION_NOT_FOUND", .registrationNotFound),
        (400, "ERROR_OPERATION_NOT_FOUND", .operationNotFound), (400, "ERROR_INBOX_NOT_FOUND", .messageNotFound),
        (404, "ERROR_NOT_FOUND", .callNotFound), (400, "ERROR_REGISTRATION_CHANGE", .registrationNotChangeable),
        (400, "ERROR_OPERATION_STATE_CHANGE", .operationNotChangeable),
        (400, "ERROR_REGISTRATION", .registrationFailed),
        (400, "ERROR_REGISTRATION_NOT_ALLOWED", .registrationNotAllowed),
        (400, "ERROR_OTP_INVALID", .malformedOfflineCode), (400, "ERROR_SIGNATURE_INVALID", .malformedSignature),
        (400, "ERROR_TOKEN_INVALID", .malformedToken), (400, "ERROR_PUSH_MESSAGE", .pushFailed),
        (400, "ERROR_INBOX", .inboxFailed), (400, "ERROR_AUDIT", .auditFailed), (400, "LATER", .otherRefusal),
    ]

    @Test(arguments: Self.codes)
    func aRefusalIsTheServersWord(_ status: Int, _ serverCode: String, _ code: CloudError.Code) async throws {
        let client = try CloudClient(ScriptedTransport(.json(status, Self.refusal(serverCode))))
        let error = try await cloudError { try await client.cancelOperation("7") }
        #expect(error.code == code && error.serverCode == serverCode && error.httpStatus == status)
        #expect(error.message == "words" && !error.isOutcomeUnknown)
    }

    /// It may have done the work before it failed.
    @Test(arguments: [
        (500, "ERROR_GENERIC", CloudError.Code.serverFailed), (500, "ERROR_INTERNAL_API", .serverFailed),
        (500, "ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE", .upstreamFailed), (503, "LATER", .otherRefusal),
        (400, "ERROR_UNABLE_TO_CALL_UPSTREAM_SERVICE", .upstreamFailed), (408, "ERROR_REQUEST", .invalidRequest),
    ])
    func aServerThatFailedMayHaveDoneIt(_ status: Int, _ serverCode: String, _ code: CloudError.Code) async throws {
        let refusal = ScriptedTransport.Answer.json(status, Self.refusal(serverCode))
        let client = try CloudClient(ScriptedTransport(refusal, refusal))
        let error = try await cloudError { try await client.cancelOperation("7") }
        #expect(error.code == code && error.isOutcomeUnknown)
        #expect(try await cloudError { try await client.operation("7") }.isOutcomeUnknown == false)
    }

    @Test func violationsNameMembersAndNoValues() async throws {
        let violations = #"""
            , "violations": [{"fieldName": "userId", "invalidValue": "alice@example.com", "hint": "is \u001b[2J bad"},
            {"hint": "of nothing"}, 7]
            """#
        let answer = ScriptedTransport.Answer.json(400, Self.refusal("ERROR_REQUEST", violations))
        let client = try CloudClient(ScriptedTransport(answer))
        let error = try await cloudError {
            try await client.createOperation(.init(template: "payment", userID: "alice@example.com"))
        }
        #expect(error.violations == [.init(field: "userId", hint: "is \u{1b}[2J bad")])
        #expect(error.description.contains(#"[ERROR_REQUEST]; userId: is \u{1B}[2J bad"#))
        #expect(!"\(error)".contains("example.com") && !String(reflecting: error).contains("example.com"))
    }

    // MARK: Whom not to believe

    private static let pages: [ScriptedTransport.Answer] = [
        .json(502, "<html>Bad gateway</html>"), .json(401, ""), .json(403, #"{"error": "no"}"#),
        .json(302, "", headers: ["Location": "https://evil.example.com/"]), .json(204, ""), .json(200, "<html></html>"),
        .json(200, "[]"), .json(200, "{}"), .json(200, #"{"status": "OK"}"#),
        .json(200, Self.operation.replacing(#""7""#, with: #""8""#)),
        .json(200, Self.operation.replacing(#""later""#, with: #""status": "APPROVED", "later""#)),
        .json(200, Self.operation.replacing("1767225600000", with: #""1767225600000""#)),
        .json(200, Self.operation.replacing(#""PENDING""#, with: "null")),
        .json(200, Self.operation + String(repeating: " ", count: 1 << 20)),
        .json(200, String(repeating: "[", count: 100_000)), .failure(.connectionLost), .failure(.timeout),
        .failure(.invalidResponse), .failure(.responseTooLarge), .failure(NoError()),
    ]

    @Test(arguments: Self.pages.indices)
    func whatIsNotTheServersAnswerLeavesAWriteUnknown(_ index: Int) async throws {
        let answer = Self.pages[index]
        let transport = ScriptedTransport(answer, answer)
        let client = try CloudClient(transport)
        let write = try await cloudError { try await client.cancelOperation("7") }
        #expect(write.isOutcomeUnknown && write.serverCode == nil, "\(write)")
        let read = try await cloudError { try await client.operation("7") }
        #expect(read.code == write.code && !read.isOutcomeUnknown)
        #expect(transport.requests.count == 2)
        #expect(!"\(write)".contains("alice") && !"\(write)".contains("secret"))
    }

    @Test(arguments: [
        HTTPTransportError.Code.connectionFailed, .tlsFailed, .invalidConfiguration, .invalidRequest, .shutdown,
    ])
    func whatNeverLeftIsKnown(_ code: HTTPTransportError.Code) async throws {
        let client = try CloudClient(ScriptedTransport(.failure(code)))
        #expect(try await cloudError { try await client.cancelOperation("7") }.isOutcomeUnknown == false)
    }

    @Test func anErrorUnderASuccessIsAnError() async throws {
        let client = try CloudClient(ScriptedTransport(.json(200, Self.refusal("ERROR_OPERATION_NOT_FOUND"))))
        #expect(try await cloudError { try await client.operation("7") }.code == .operationNotFound)
    }

    @Test func aRegistrationIsReadWithWhatIsDocumented() async throws {
        let body = #"""
            {"registrationId": "R", "registrationStatus": "FROZEN", "userId": "alice", "applicationId": "app",
            "timestampCreated": 1767225600000, "timestampLastUsed": 1767225601000, "flags": ["VIP"], "name": "phone"}
            """#
        let client = try CloudClient(
            ScriptedTransport(.json(200, body), .json(200, body.replacing("userId", with: "user")))
        )
        let registration = try await client.registration("R")
        #expect(registration.id == "R" && registration.status.rawValue == "FROZEN" && registration.userID == "alice")
        #expect(registration.applicationID == "app" && registration.flags == ["VIP"] && registration.name == "phone")
        #expect(registration.created.timeIntervalSince1970 == 1_767_225_600 && registration.date == nil)
        let error = try await cloudError { try await client.registration("R") }
        #expect(error.code == .invalidResponse && error.message.contains("'userId' is missing"))
    }

    /// The answers to a creation, a commit and a removal as far as they are documented.
    @Test func littleIsAskedOfAnswersToChanges() async throws {
        let offer = #"""
            {"registrationId": "R", "activationCode": "C", "activationCodeSignature": "AA==", "activationQrCodeData": "C#AA=="}
            """#
        let client = try CloudClient(
            ScriptedTransport(
                .json(200, offer),
                .json(200, offer.replacing("activationCode\"", with: "code\"")),
                .json(200, #"{"status": "OK"}"#),
                .json(200, #"{"status": "OK", "registrationId": "S"}"#),
                .json(200, "{}"),
                .json(200, #"{"status": "DONE"}"#)
            )
        )
        #expect(try await client.register(.init(userID: "alice")).activationQRCode == "C#AA==")
        let none = try await cloudError { try await client.register(.init(userID: "alice")) }
        #expect(none.code == .invalidResponse && none.isOutcomeUnknown)
        try await client.commitRegistration("R")
        #expect(try await cloudError { try await client.removeRegistration("R") }.isOutcomeUnknown)
        #expect(try await cloudError { try await client.removeRegistration("R") }.isOutcomeUnknown)
        let push = CloudClient.NewPush(userID: "alice", title: "T", message: "M")
        #expect(try await cloudError { try await client.push(push) }.isOutcomeUnknown)
    }

    // MARK: Reads again

    @Test func aReadThatMayPassIsRepeatedAndAWriteIsNot() async throws {
        let clock = ManualClock()
        let transport = ScriptedTransport(
            .failure(.connectionFailed),
            .json(503, "", headers: ["Retry-After": "7"]),
            .json(200, Self.operation),
            .json(503, "")
        )
        let client = try CloudClient(transport) { $0.clock = clock }
        async let operation = client.operation("7")
        #expect(await clock.nextSleep() == .milliseconds(250))
        clock.advance(by: .milliseconds(250))
        #expect(await clock.nextSleep() == .seconds(7))
        clock.advance(by: .seconds(7))
        #expect(try await operation.status == .pending)
        let write = try await cloudError { try await client.cancelOperation("7") }
        #expect(write.httpStatus == 503 && transport.requests.count == 4)
    }

    @Test func readsAreRepeatedSoManyTimesAndNotLater() async throws {
        let clock = ManualClock()
        let lost = ScriptedTransport.Answer.failure(.connectionLost)
        let transport = ScriptedTransport(
            lost,
            lost,
            lost,
            .json(429, "", headers: ["Retry-After": "21"]),
            .failure(.timeout),
            .json(404, "")
        )
        let client = try CloudClient(transport) { $0.clock = clock }
        async let third = cloudError { try await client.operation("7") }
        #expect(await clock.nextSleep() == .milliseconds(250))
        clock.advance(by: .milliseconds(250))
        #expect(await clock.nextSleep() == .seconds(1))
        clock.advance(by: .seconds(1))
        #expect(try await third.code == .connectionLost && transport.requests.count == 3)
        // It is longer than a request may take: the caller may wait.
        #expect(try await cloudError { try await client.operation("7") }.retryAfter == .seconds(21))
        #expect(try await cloudError { try await client.operation("7") }.code == .timeout)
        #expect(try await cloudError { try await client.operation("7") }.code == .httpStatus)
        #expect(transport.requests.count == 6)
    }

    // MARK: The client itself

    @Test(arguments: [
        ("http://cloud.example.com", "bank", "secret"), ("ftp://cloud.example.com", "bank", "secret"),
        ("https://bank:secret@cloud.example.com", "bank", "secret"),
        ("https://cloud.example.com?a=b", "bank", "secret"),
        ("https://cloud.example.com", "ba:nk", "secret"), ("https://cloud.example.com", "", "secret"),
        ("https://cloud.example.com", "bank", ""), ("https://cloud.example.com", "bank", "secret\r\nX: y"),
    ])
    func aClientThatCannotWorkIsNotMade(_ url: String, _ user: String, _ password: String) throws {
        let error = #expect(throws: CloudError.self) {
            try CloudClient(baseURL: url, credentials: .init(user: user, password: password))
        }
        #expect(error?.code == .invalidConfiguration && error.map { !"\($0)".contains("secret") } == true)
    }

    @Test func nothingPersonalIsPrinted() async throws {
        let client = try CloudClient(ScriptedTransport(.json(200, Self.operation)))
        let request = CloudClient.NewOperation(template: "payment", userID: "alice", parameters: ["amount": "63.99"])
        let operation = try await client.createOperation(request)
        let credentials = CloudClient.Credentials(user: "bank", password: "secret")
        var text = "\(operation) \(operation.value) \(request) \(credentials)"
        for value in [operation, operation.value, request, credentials] as [any Sendable] {
            text += String(reflecting: value)
            dump(value, to: &text)
        }
        #expect(!text.contains("63.99") && !text.contains("alice") && !text.contains("secret"))
        #expect("\(operation)" == "Operation 7 PENDING")
    }
}
