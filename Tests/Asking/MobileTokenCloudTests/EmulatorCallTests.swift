import Foundation
import HTTPClientTransport
import MobileToken
import MobileTokenOffline
import MobileTokenTesting
import TestSupport
import Testing
import WireFacts

/// The client at the development server, over sockets: also where that answers with what is documented alone.
@Suite(.wireFact("6.1", "6.2"), .timeLimit(.minutes(5))) struct EmulatorCallTests {
    @Test(arguments: [false, true]) func anOperationIsCreatedShownAndCanceled(isDocumentedOnly: Bool) async throws {
        try await withCloud(isDocumentedOnly) { emulator, cloud in
            let before = Date()
            var request = CloudClient.NewOperation(template: "payment", userID: "alice")
            request.parameters = ["amount": "63.99", "currency": "EUR"]
            request.externalID = "E"
            request.expires = Date(timeIntervalSince1970: (before.timeIntervalSince1970 + 600).rounded())
            let created = try await cloud.createOperation(request)
            #expect(created.status == .pending && created.userID == "alice" && created.expires == request.expires)
            #expect(created.parameters["amount"] == "63.99" && created.failureCount == 0)
            let date = try #require(created.date)
            #expect(abs(date.timeIntervalSince(before)) < 60)
            #expect((created.data == nil) == isDocumentedOnly && created.externalID == (isDocumentedOnly ? nil : "E"))
            #expect(try await cloud.operation(created.id).parameters == created.parameters)
            let canceled = try await cloud.cancelOperation(created.id, reason: "MISTAKE")
            #expect(canceled.status == .canceled && canceled.statusReason == (isDocumentedOnly ? nil : "MISTAKE"))
            #expect(await emulator.operations().first?.status == .canceled)
            let over = try await cloudError { try await cloud.cancelOperation(created.id) }
            #expect(over.code == .operationNotChangeable && !over.isOutcomeUnknown)
            #expect(try await cloudError { try await cloud.operation("none") }.code == .operationNotFound)
        }
    }

    @Test(arguments: [false, true]) func anApprovalIsSeen(isDocumentedOnly: Bool) async throws {
        try await withCloud(isDocumentedOnly) { emulator, cloud in
            let device = try await emulator.makeDevice(userID: "alice", rule: .init(.never))
            let registration = try await cloud.registration(device.id)
            #expect(registration.status == .active && registration.userID == "alice")
            #expect(registration.applicationID == "mobile-token" && registration.name == device.name)
            let operation = try await cloud.createOperation(.init(template: "payment", userID: "alice"))
            let code = try await cloud.offlineCode(operation: operation.id, registration: registration.id)
            let lines = code.content.split(separator: "\n", omittingEmptySubsequences: false)
            let data = await emulator.operations().first?.data
            #expect(lines.count > 4 && lines[0] == operation.id && lines[3] == data ?? "")
            try await emulator.decide(operation.id, .approve, byDevice: device.id)
            let approved = try await cloud.operation(operation.id)
            #expect(approved.status == .approved && approved.failureCount == 0)
            #expect((approved.finalized == nil) == isDocumentedOnly && (approved.data == nil) == isDocumentedOnly)
            #expect((approved.additionalData == nil) == isDocumentedOnly)
            let late = try await cloudError {
                try await cloud.offlineCode(operation: operation.id, registration: registration.id)
            }
            #expect(late.code == .operationNotChangeable)
        }
    }

    @Test(arguments: [false, true]) func aRegistrationLivesItsLife(isDocumentedOnly: Bool) async throws {
        try await withCloud(isDocumentedOnly) { emulator, cloud in
            var request = CloudClient.NewRegistration(userID: "alice")
            (request.flags, request.activatingStep) = (["VIP"], .commit)
            let offer = try await cloud.register(request)
            let another = try await cloudError { try await cloud.register(request, refusesOthersInProgress: true) }
            #expect(another.code == .registrationNotAllowed && !another.isOutcomeUnknown)
            #expect(offer.activationQRCode.hasPrefix(offer.activationCode + "#"))
            #expect(try await cloud.registration(offer.id).status == .created)
            let client = try emulator.makeClient()
            _ = try await client.activate(code: offer.activationQRCode, password: "1234")
            #expect(try await cloud.registration(offer.id).status == .pendingCommit)
            try await cloud.commitRegistration(offer.id, externalUserID: "clerk")
            let active = try await cloud.registration(offer.id)
            #expect(active.status == .active && active.flags == ["VIP"] && active.fingerprint?.utf8.count == 8)
            let twice = try await cloudError { try await cloud.commitRegistration(offer.id) }
            #expect(twice.code == .registrationNotChangeable)
            try await cloud.blockRegistration(offer.id)
            #expect(try await cloud.registration(offer.id).blockedReason == "NOT_SPECIFIED")
            try await cloud.unblockRegistration(offer.id)
            #expect(try await cloud.registration(offer.id).status == .active)
            try await cloud.removeRegistration(offer.id)
            #expect(try await cloud.registration(offer.id).status == .removed)
            #expect(try await cloudError { try await cloud.registration("none") }.code == .registrationNotFound)
        }
    }

    @Test(arguments: [false, true]) func codesAndTokensOfADeviceAreVerified(isDocumentedOnly: Bool) async throws {
        try await withCloud(isDocumentedOnly) { emulator, cloud in
            let transport = HoldingTransport(try CurlTransport())
            let client = try emulator.makeClient { $0.transport = transport }
            let activation = try await emulator.makeActivation(user: "alice", password: "1234", client: client)
            let service = client.makeOperationsService(for: activation)
            try await cloud.createOperation(.init(template: "payment", userID: "alice"))
            let shown = try #require(try await service.operations().first)
            // One that the server has not seen: it takes each once.
            transport.holds("/operation/list")
            _ = try? await service.operations()
            let token = try #require(transport.last(to: "/operation/list")?.headers["X-PowerAuth-Token"])
            let byToken = try await cloud.verify(token: token)
            #expect(byToken.isValid && byToken.userID == "alice" && byToken.registrationID == activation.activationID)
            let garbled = try await cloudError { try await cloud.verify(token: "none") }
            #expect(garbled.code == .malformedToken)

            transport.holds("/operation/authorize")
            _ = try? await service.authorize(shown, with: .possessionAndKnowledge(password: "1234"))
            let held = try #require(transport.last(to: "/operation/authorize"))
            let request = CloudClient.SignedRequest(
                .post,
                uriID: "/operation/authorize",
                header: try #require(held.headers["X-PowerAuth-Authorization"]),
                body: held.body
            )
            let right = try await cloud.verify(request)
            #expect(right.isValid && right.userID == "alice" && right.factors == "POSSESSION_KNOWLEDGE")
            #expect(right.registrationStatus == .active && right.applicationID == "mobile-token")
            let again = try await cloud.verify(request)
            #expect(!again.isValid && again.remainingAttempts == 4)

            let operation = try await cloud.createOperation(.init(template: "payment", userID: "alice"))
            let code = try await cloud.offlineCode(operation: operation.id, registration: activation.activationID)
            let digits = try await service.authorize(
                offline: OfflineOperation.Unverified(parsing: code.content),
                with: .possessionAndKnowledge(password: "1234")
            )
            func verdict(_ digits: String) async throws -> CloudResponse<CloudClient.Verdict> {
                try await cloud.verify(
                    offlineCode: digits,
                    nonce: code.nonce,
                    operation: operation.id,
                    registration: activation.activationID
                )
            }
            #expect(try await cloudError { try await verdict("no digits") }.code == .malformedOfflineCode)
            let (wrong, accepted) = (try await verdict("00000000-00000000"), try await verdict(digits))
            #expect(!wrong.isValid && accepted.isValid)
            #expect(try await cloud.operation(operation.id).status == .approved)
        }
    }

    @Test func messagesAndApplicationsAreMade() async throws {
        try await withCloud(true) { emulator, cloud in
            var message = CloudClient.NewMessage(userID: "alice", subject: "S", summary: "s", body: "<p>B</p>")
            message.isHTML = true
            let made = try await cloud.createMessage(message)
            #expect(made.subject == "S" && made.body == "<p>B</p>" && !made.isRead)
            #expect(await emulator.messages().map(\.id) == [made.id])
            try await cloud.push(.init(userID: "alice", title: "T", message: "M"))
            let empty = try await cloudError { try await cloud.push(.init(userID: "alice", title: nil, message: nil)) }
            #expect(empty.httpStatus == 400 && !empty.isOutcomeUnknown)
            let application = try await cloud.createApplication(id: "second", roles: ["retail"])
            #expect(application.roles == ["retail"])
            #expect(application.serviceBaseURL == emulator.baseURL)
            let shown = try await cloud.application("second")
            #expect(shown.sdkConfiguration == application.sdkConfiguration && !shown.sdkConfiguration.isEmpty)
            let taken = try await cloudError { try await cloud.createApplication(id: "second") }
            #expect(taken.code == .invalidRequest && taken.violations.map(\.field) == ["id"])
        }
    }

    @Test func theServersRefusalsHaveTheirCodes() async throws {
        try await withCloud { emulator, cloud in
            let template = try await cloudError {
                try await cloud.createOperation(.init(template: "none", userID: "alice"))
            }
            #expect(template.code == .invalidRequest && template.violations.map(\.field) == ["template"])
            let stranger = try CloudClient(
                baseURL: emulator.cloudURL,
                credentials: .init(user: emulator.cloudUser, password: "wrong")
            )
            let error = try await cloudError { try await stranger.cancelOperation("7") }
            #expect(error.code == .unauthorized && error.serverCode == "HTTP_401" && !error.isOutcomeUnknown)
            await stranger.shutdown()
            let ended = try await cloudError { try await stranger.cancelOperation("7") }
            #expect(ended.code == .noConnection && !ended.isOutcomeUnknown)
        }
    }

    // MARK: Answers that are lost

    private static let spoilt: [(FaultRule.Effect, CloudError.Code)] = [
        (.lostAnswer, .connectionLost), (.init(body: .truncated), .invalidResponse),
        (.init(body: .garbage), .invalidResponse), (.init(drip: 1), .timeout),
    ]

    @Test(arguments: Self.spoilt.indices) func aCreationWhoseAnswerIsSpoiltMayBeThere(_ index: Int) async throws {
        let (effect, code) = Self.spoilt[index]
        try await withCloud { emulator, cloud in
            try await emulator.withFault(effect, on: "/v2/operations") {
                let hasty = try CloudClient(emulator) { $0.timeout = .seconds(2) }
                let error = try await cloudError {
                    try await hasty.createOperation(.init(template: "payment", userID: "alice"))
                }
                #expect(error.code == code || error.code == .connectionLost, "\(error)")
                #expect(error.isOutcomeUnknown && error.serverCode == nil)
                await hasty.shutdown()
            }
            #expect(await emulator.operations().count == 1)
        }
    }

    @Test func aServerThatIsAwayForAMomentIsAskedAgain() async throws {
        try await withCloud { emulator, cloud in
            let operation = try await cloud.createOperation(.init(template: "payment", userID: "alice"))
            try await emulator.withFault(.unavailable(), on: "/v2/operations/**", first: 1) {
                let shown = try await cloud.operation(operation.id)
                #expect(shown.status == .pending)
            }
            try await emulator.withFault(.unavailable(retryAfter: 60), on: "/v2/operations/**") {
                let error = try await cloudError { try await cloud.operation(operation.id) }
                #expect(error.retryAfter == .seconds(60) && error.code == .serverFailed)
            }
        }
    }

    @Test func anotherKeyIsNotBelieved() async throws {
        try await withEmulator(altered(Emulator.Configuration()) { $0.tls = .selfSigned }) { emulator in
            let certificate = try #require(emulator.certificate)
            let other = "sha256//" + Data(repeating: 7, count: 32).base64EncodedString()
            for (pin, isRight) in [(certificate.publicKeyPin, true), (other, false)] {
                var options = CurlTransport.Configuration()
                options.tls.validation = .certificateAuthority(file: certificate.file)
                options.tls.pinnedPublicKeys = [pin]
                let transport = try CurlTransport(configuration: options)
                let cloud = try CloudClient(emulator) { $0.transport = transport }
                let error = try await cloudError { try await cloud.cancelOperation("none") }
                #expect(error.code == (isRight ? .operationNotFound : .tlsFailed) && !error.isOutcomeUnknown)
                #expect(throws: CloudError.self) {
                    try CloudClient(emulator, baseURL: "http://127.0.0.1:1") { $0.transport = transport }
                }
                await transport.shutdown()
            }
        }
    }
}

extension CloudClient {
    convenience init(
        _ emulator: Emulator,
        baseURL: String? = nil,
        _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        var configuration = Configuration()
        change(&configuration)
        try self.init(
            baseURL: baseURL ?? emulator.cloudURL + "/powerauth-cloud",
            credentials: Credentials(user: emulator.cloudUser, password: emulator.cloudPassword),
            configuration: configuration
        )
    }
}

/// Runs `body` with a development server and a client of its cloud API.
func withCloud(
    _ isDocumentedOnly: Bool = false,
    _ body: (Emulator, CloudClient) async throws -> Void
) async throws {
    try await withEmulator(altered(.init()) { $0.protocolRules.documentedAnswersOnly = isDocumentedOnly }) { emulator in
        let cloud = try CloudClient(emulator)
        try await body(emulator, cloud)
        await cloud.shutdown()
    }
}

/// A transport that keeps what was sent, and delivers all but what it is told to hold.
private final class HoldingTransport: HTTPTransport {
    private let base: CurlTransport
    private let state = Shared((sent: [HTTPRequest](), held: [String]()))

    init(_ base: CurlTransport) { self.base = base }

    func holds(_ path: String) { self.state.update { $0.held.append(path) } }

    func last(to path: String) -> HTTPRequest? { self.state.value.sent.last { $0.url.hasSuffix(path) } }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        let isHeld = self.state.update { state in
            state.sent.append(request)
            return state.held.contains { request.url.hasSuffix($0) }
        }
        guard !isHeld else { throw HTTPTransportError(.connectionLost) }
        return try await self.base.send(request)
    }
}
