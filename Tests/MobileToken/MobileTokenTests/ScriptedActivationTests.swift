import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import PowerAuth
import Testing

/// A bot's unit test needs no server, and no import but `MobileToken`.
@Suite struct ScriptedActivationTests {
    private struct ScriptedActivation: AuthenticatedChannel {
        let activationID = "scripted"
        var operations: [UserOperation] = []

        func post(
            _ path: String,
            body: [UInt8],
            authentication: RequestAuthentication,
            acceptLanguage: String,
            decision: DecisionIntent?
        ) async throws -> ChannelResponse {
            path.hasSuffix("/operation/list") ? ChannelResponse(operations: self.operations) : .success
        }
    }

    /// All that an operation of one's own must have.
    private struct Transfer: AuthorizableOperation {
        let id = "t"
        let data = "A1*R42"
    }

    private static let money = UserOperation.Attribute.Money(
        amount: 49.9,
        currency: "CZK",
        amountFormatted: "49,90",
        currencyFormatted: "Kč"
    )

    private static let contents: [UserOperation.Attribute.Content] = [
        .amount(Self.money), .amountConversion(source: Self.money, target: Self.money, isDynamic: true),
        .keyValue("v"), .note("n"), .heading(level: 1),
        .partyInfo(.init(logoURL: "l", name: "n", description: "d", websiteURL: "w")),
        .image(thumbnailURL: "t", originalURL: nil), .image(thumbnailURL: "t", originalURL: "o"),
        .alert(.init(kind: .warning, title: "t", message: "m")),
        .unknown(type: "NEW", json: ["type": "NEW", "id": "1", "label": "L", "x": 1]),
    ]

    @Test(arguments: Self.contents)
    func anOperationMadeByHandHasTheJSONThatAServerWouldSend(content: UserOperation.Attribute.Content) throws {
        let made = UserOperation(
            id: "1",
            name: "login",
            data: "A2",
            formData: OperationForm(
                title: "T",
                message: "M",
                resultTexts: OperationForm.ResultTexts(success: "s", reject: "r"),
                attributes: [UserOperation.Attribute(id: "1", label: "L", content: content)]
            )
        )
        let read = try UserOperation(parsing: made.json)
        #expect(read == made)
        #expect(read.formData == made.formData)
        #expect(read.allowedSignatureType == made.allowedSignatureType)
        #expect(read.issues.isEmpty && read.isAuthorizable && made.isAuthorizable)
        #expect(read.created == made.created)
        #expect(read.expires == made.expires)
    }

    @Test func servicesAcceptWhatStandsForAnActivation() async throws {
        let operation = UserOperation(id: "1", name: "login", data: "A2")
        let service = OperationsService(activation: ScriptedActivation(operations: [operation]))
        #expect(try await service.operations() == [operation])
        try await service.authorize(operation, with: .possessionAndKnowledge(password: "1234"))
        #expect(service.list.operations.isEmpty)
        try await service.rejectOperation(Transfer(), reason: .unknown)
        try await InboxService(activation: ScriptedActivation()).markAllRead()
        let push = PushService(activation: ScriptedActivation())
        try await push.register(token: "t", for: .init("web"))
        #expect(push.registration == PushService.Registration(platform: .init("web"), token: "t"))
    }

    @Test func whatServicesReturnCanBeMade() throws {
        let issue = DecodingIssue(path: "id", reason: .missing)
        let message = InboxMessage(id: "1", subject: "S", isRead: false, created: .distantPast)
        let page = InboxService.Page(messages: [message], issues: [issue])
        #expect(page.messages == [message] && page.issues == [issue] && page.omittedIssueCount == 0)
        let operation = OfflineOperation(
            id: "1",
            title: "T",
            message: "M",
            operationData: try #require(UserOperation.SignedData(parsing: "A1*A100CZK")),
            flags: .init(text: "B"),
            nonce: "AAAAAAAAAAAAAAAAAAAAAA=="
        )
        #expect(operation.flags.isBiometryAllowed)
        #expect(operation.operationData.fields == [.amount(100, currency: "CZK", digits: "100")])
        #expect(UserOperation.SignedData(parsing: "A1*\n") == nil)
    }

    /// Of TestingABot.
    @Test func theDocumentedActivationIsEnough() async throws {
        struct ScriptedActivation: AuthenticatedChannel {
            let activationID = "scripted"

            func post(
                _ path: String,
                body: [UInt8],
                authentication: RequestAuthentication,
                acceptLanguage: String,
                decision: DecisionIntent?
            ) async throws -> ChannelResponse {
                path.hasSuffix("/operation/list")
                    ? ChannelResponse(operations: [UserOperation(id: "1", name: "login", data: "A2")]) : .success
            }
        }

        let operations = OperationsService(activation: ScriptedActivation())
        #expect(try await operations.operations().map(\.id) == ["1"])
    }

    /// Of TestingABot.
    @Test func theDocumentedPolicyCanBeTested() {
        let bot = ApprovalBot(
            operations: OperationsService(activation: ScriptedActivation()),
            authentication: .possession,
            limit: 50
        )
        // As a reader pastes it.
        let operation = UserOperation(
            id: "1",
            name: "authorize_payment",
            data: "A1*A20CZK",
            formData: OperationForm(
                title: "Payment",
                message: "",
                attributes: [
                    UserOperation.Attribute(
                        id: "operation.amount",
                        label: "Amount",
                        content: .amount(
                            .init(amount: 20, currency: "CZK", amountFormatted: "20", currencyFormatted: "CZK")
                        )
                    )
                ]
            )
        )
        let review = OperationReview(of: operation, activationID: "scripted")
        #expect(review.isComplete)
        #expect(bot.verdict(on: review) == .approve)
    }
}
