import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenTesting
import Testing

/// The integration suites of the phone SDKs, restated.
///
/// What those suites have in common: they know a URL, a user, a password and an application, talk to the cloud API with
/// requests of their own, and decode the answers into types with few optional members. So does this, and knows nothing
/// of the emulator but what its command line prints; the phone is played by this SDK.
struct PhoneSuite: Sendable {
    let cloudURL: String
    let credentials: String
    let applicationID: String
    let transport: CurlTransport
    /// Each test has a user of its own.
    let user = UUID().uuidString
    let client: MobileTokenClient

    static let pin = "1234"

    /// Runs `body` against a server, configured as the suites are.
    static func run(_ body: (PhoneSuite) async throws -> Void) async throws {
        try await withEmulator { emulator in
            let transport = try CurlTransport()
            let suite = try await PhoneSuite(
                cloudURL: emulator.cloudURL,
                credentials: "\(emulator.cloudUser):\(emulator.cloudPassword)",
                applicationID: emulator.applicationID,
                enrollmentURL: emulator.baseURL,
                transport: transport
            )
            try await body(suite)
            await transport.shutdown()
        }
    }

    private init(
        cloudURL: String,
        credentials: String,
        applicationID: String,
        enrollmentURL: String,
        transport: CurlTransport
    ) async throws {
        self.cloudURL = cloudURL
        self.credentials = Data(credentials.utf8).base64EncodedString()
        self.applicationID = applicationID
        self.transport = transport
        let url = "\(cloudURL)/admin/applications/\(applicationID)"
        let application: Application = try await Self.call(.get, url, credentials: self.credentials, transport)
        try #require(application.serviceBaseUrl == enrollmentURL)
        var configuration = MobileTokenClient.Configuration()
        configuration.store = ActivationStore.inMemory()
        configuration.transport = transport
        self.client = try MobileTokenClient(
            baseURL: enrollmentURL,
            sdkConfiguration: application.mobileSdkConfig,
            configuration: configuration
        )
    }

    // MARK: The cloud API

    func get<Answer: Decodable>(_ path: String) async throws -> Answer {
        try await Self.call(.get, self.cloudURL + path, credentials: self.credentials, self.transport)
    }

    /// The body is JSON text, as the suites have it.
    func post<Answer: Decodable>(_ path: String, _ body: String) async throws -> Answer {
        try await Self.call(.post, self.cloudURL + path, body, credentials: self.credentials, self.transport)
    }

    /// With an empty body, as the suites send it.
    func delete<Answer: Decodable>(_ path: String) async throws -> Answer {
        try await Self.call(.delete, self.cloudURL + path, "", credentials: self.credentials, self.transport)
    }

    private static func call<Answer: Decodable>(
        _ method: HTTPRequest.Method,
        _ url: String,
        _ body: String? = nil,
        credentials: String,
        _ transport: CurlTransport
    ) async throws -> Answer {
        let headers: HTTPHeaders = [
            "authorization": "Basic \(credentials)", "content-type": "application/json; charset=UTF-8",
        ]
        let request = HTTPRequest(method, url: url, headers: headers, body: body.map { Array($0.utf8) })
        let response = try await transport.send(request)
        try #require(response.status == 200, "\(method) \(url): \(response.status)")
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .millisecondsSince1970
        return try decoder.decode(Answer.self, from: Data(response.body))
    }

    /// The description of an application: enough to configure a phone with.
    struct Application: Decodable {
        let id: String
        let serviceBaseUrl: String
        let appKey: String
        let appSecret: String
        let mobileSdkConfig: String
    }

    struct Registration: Decodable {
        let registrationId: String
        let activationCode: String
        let activationCodeSignature: String
        let activationQrCodeData: String
    }

    /// The answer to a change or a removal.
    struct Status: Decodable { let status: String }

    struct Operation: Decodable {
        let operationId: String
        let userId: String?
        let status: String
        let operationType: String
        let failureCount: Int
        let maxFailureCount: Int
        let timestampCreated: Int
        let timestampExpires: Int
        let proximityOtp: String?
        let additionalData: AdditionalData?
    }

    struct AdditionalData: Decodable {
        let mobileTokenData: MobileTokenData?
    }

    struct MobileTokenData: Decodable, Equatable {
        struct Visit: Decodable, Equatable {
            let screen: String?
            let timestampOpened: String?
            let timestampClosed: String?
            let action: String?
        }

        let test1: Int?
        let test2: Double?
        let test3: String?
        let test4: [String: Bool]?
        let preApprovalScreens: [Visit]?
    }

    struct OfflineCode: Decodable {
        let operationQrCodeData: String
        let nonce: String
    }

    struct OfflineVerdict: Decodable {
        let otpValid: Bool
        let userId: String
        let registrationId: String
        let registrationStatus: String
        let signatureType: String
        let remainingAttempts: Int
    }

    struct Message: Decodable {
        let id: String
        let subject: String
        let summary: String
        let body: String
        let type: String
        let timestamp: Date
        let read: Bool
    }
}

// MARK: What the suites prepare

extension PhoneSuite {
    /// Registers the user's phone, activates it, and has it committed: the way of the suites for protocol 3.
    func activate() async throws -> Activation {
        let registration: Registration = try await self.post(
            "/v2/registrations",
            #"{"userId": "\#(self.user)", "flags": [], "appId": "\#(self.applicationID)"}"#
        )
        #expect(registration.activationQrCodeData.hasPrefix("\(registration.activationCode)#"))
        let activation = try await self.client.activate(
            code: registration.activationQrCodeData,
            name: "tests",
            password: Self.pin
        )
        let committed: Status = try await self.post(
            "/v2/registrations/\(registration.registrationId)/commit",
            #"{"externalUserId": "test"}"#
        )
        #expect(committed.status == "OK")
        #expect(activation.activationID == registration.registrationId)
        return activation
    }

    /// A login that the user is to approve.
    func createOperation() async throws -> Operation {
        try await self.post("/v2/operations", Self.login(#""userId": "\#(self.user)", "template": "login""#))
    }

    /// A login for whoever claims it, with a code to scan.
    func createUnclaimedOperation() async throws -> Operation {
        try await self.post(
            "/v2/operations",
            Self.login(#""template": "login_preApproval", "proximityCheckEnabled": true"#)
        )
    }

    private static func login(_ members: String) -> String {
        """
        {
          \(members),
          "parameters": {
            "party.id": "666", "party.name": "Datová schránka", "session.id": "123", "session.ip-address": "192.168.0.1"
          }
        }
        """
    }

    func operation(_ id: String) async throws -> Operation { try await self.get("/v2/operations/\(id)") }

    /// Messages for the user, oldest first.
    func createMessages(_ count: Int, type: String = "text") async throws -> [Message] {
        var messages: [Message] = []
        for number in 1...count {
            let body = """
                {
                  "userId": "\(self.user)", "subject": "Message #\(number)", "summary": "Summary of \(number)",
                  "body": "This is the body of \(number).", "type": "\(type)", "silent": true
                }
                """
            messages.append(try await self.post("/v2/inbox/messages", body))
        }
        return messages
    }
}
