import ExactJSON
import Foundation
import MobileToken
import MobileTokenScreens
import MobileTokenTesting
import Testing

/// The demands of the phone SDKs' suites on operations, against `/v2` as they call it.
@Suite(.timeLimit(.minutes(5))) struct PhoneSuiteOperationTests {
    private func withPhone(_ body: (PhoneSuite, Activation, OperationsService) async throws -> Void) async throws {
        try await PhoneSuite.run { suite in
            let activation = try await suite.activate()
            try await body(suite, activation, OperationsService(activation: activation))
        }
    }

    private let right = Activation.Authentication.possessionAndKnowledge(password: PhoneSuite.pin)
    private let wrong = Activation.Authentication.possessionAndKnowledge(password: "xxxx")

    @Test func aFreshPhoneHasNothingToDecideAndKnowsTheTime() async throws {
        try await self.withPhone { _, activation, service async throws in
            #expect(try await service.operations() == [])
            #expect(abs(try #require(service.currentServerDate).timeIntervalSinceNow) < 600)
            #expect(try await activation.status().state == .active)
        }
    }

    @Test func aPhoneMayBeActiveAtOnceWithTheCodeAlone() async throws {
        try await PhoneSuite.run { suite in
            let registration: PhoneSuite.Registration = try await suite.post(
                "/v2/registrations",
                #"{"appId": "\#(suite.applicationID)", "userId": "\#(suite.user)", "commitPhase": "ON_KEY_EXCHANGE"}"#
            )
            let activation = try await suite.client.activate(
                code: registration.activationCode,
                name: UUID().uuidString,
                password: PhoneSuite.pin
            )
            #expect(try await activation.status().state == .active)
            try await activation.remove(authenticatedBy: self.right)
        }
    }

    @Test func aRegistrationIsRemovedFromBothSides() async throws {
        try await self.withPhone { suite, activation, _ in
            let path = "/v2/registrations/\(activation.activationID)"
            let removed: PhoneSuite.Status = try await suite.delete(path)
            #expect(removed.status == "OK")
            #expect(try await activation.status().state == .removed)
        }
    }

    @Test func aPaymentIsApprovedAfterAWrongPasswordWasRefused() async throws {
        try await self.withPhone { suite, _, service in
            let created = try await suite.createOperation()
            #expect(created.userId == suite.user)
            #expect(created.status == "PENDING")
            #expect(created.operationType == "login")
            let operations = try await service.operations()
            #expect(operations.map(\.id) == [created.operationId])
            let operation = try #require(operations.first)
            #expect(try await errorCode { try await service.authorize(operation, with: self.wrong) } != nil)
            #expect(try await suite.operation(operation.id).failureCount == 1)
            try await service.authorize(operation, with: self.right)
            #expect(try await suite.operation(operation.id).status == "APPROVED")
        }
    }

    @Test func aSecondApprovalIsToldThatTheOperationIsFinished() async throws {
        try await self.withPhone { suite, _, service in
            let operation = try await service.detail(id: suite.createOperation().operationId)
            try await service.authorize(operation, with: self.right)
            let code = try await errorCode { try await service.authorize(operation, with: self.right) }
            #expect(code == .operationAlreadyFinished)
        }
    }

    @Test func aPaymentIsRejected() async throws {
        try await self.withPhone { suite, _, service in
            let created = try await suite.createOperation()
            let operation = try #require(try await service.operations().first { $0.id == created.operationId })
            try await service.reject(operation, reason: .unexpectedOperation)
            #expect(try await suite.operation(operation.id).status == "REJECTED")
            #expect(try await service.operations() == [])
        }
    }

    @Test func whatThePhoneTellsOfItselfReachesTheBank() async throws {
        let told = try #require(
            try JSONValue(
                parsing: """
                    {
                      "test1": 1, "test2": 2.3, "test3": "string", "test4": {"nested": true},
                      "preApprovalScreens": [
                        {
                          "screen": "intro-warning", "timestampOpened": "2026-01-01T10:00:00Z",
                          "timestampClosed": "2026-01-01T10:00:01Z", "action": "CONTINUE"
                        }
                      ]
                    }
                    """
            ).object
        )
        let expected = PhoneSuite.MobileTokenData(
            test1: 1,
            test2: 2.3,
            test3: "string",
            test4: ["nested": true],
            preApprovalScreens: [
                .init(
                    screen: "intro-warning",
                    timestampOpened: "2026-01-01T10:00:00Z",
                    timestampClosed: "2026-01-01T10:00:01Z",
                    action: "CONTINUE"
                )
            ]
        )
        try await self.withPhone { suite, _, service in
            var approved = try await service.detail(id: suite.createOperation().operationId)
            approved.mobileTokenData = told
            try await service.authorize(approved, with: self.right)
            #expect(try await suite.operation(approved.id).additionalData?.mobileTokenData == expected)

            var rejected = try await service.detail(id: suite.createOperation().operationId)
            rejected.mobileTokenData = told
            try await service.reject(rejected, reason: .preApproval)
            #expect(try await suite.operation(rejected.id).additionalData?.mobileTokenData == expected)
        }
    }

    @Test func anOperationOfNobodyIsFoundByItsIdentifier() async throws {
        try await self.withPhone { suite, _, service in
            let created = try await suite.createUnclaimedOperation()
            #expect(created.userId == nil)
            #expect(try await service.detail(id: created.operationId).id == created.operationId)
        }
    }

    @Test func anOperationOfNobodyIsClaimedScannedAndApproved() async throws {
        try await self.withPhone { suite, _, service in
            let created = try await suite.createUnclaimedOperation()
            var operation = try await service.claim(id: created.operationId)
            #expect(operation.ui?.preApprovalScreens.first?.kind == .qrScan)
            // Older phones look for the only screen there was then.
            let sent = try JSONValue(parsing: operation.json)
            #expect(sent["ui"]?["preApprovalScreen"]?["type"]?.string == "QR_SCAN")
            let code = try #require(try await suite.operation(operation.id).proximityOtp)
            operation.proximityCheck = UserOperation.ProximityCheck(totp: code, source: .qrCode)
            #expect(try await errorCode { try await service.authorize(operation, with: self.wrong) } != nil)
            try await service.authorize(operation, with: self.right)
            #expect(try await suite.operation(operation.id).userId == suite.user)
        }
    }

    @Test func theReasonOfACancellationIsInTheHistory() async throws {
        try await self.withPhone { suite, _, service in
            let id = try await suite.createOperation().operationId
            let path = "/v2/operations/\(id)?statusReason=PREARRANGED_REASON"
            let canceled: PhoneSuite.Status = try await suite.delete(path)
            #expect(canceled.status == "CANCELED")
            let history = try await service.history(authenticatedBy: self.right)
            let entry = try #require(history.operations.first { $0.id == id })
            #expect(entry.status == .canceled)
            #expect(entry.statusReason == "PREARRANGED_REASON")
        }
    }

    @Test func whatIsNotDecidedIsPendingInTheHistory() async throws {
        try await self.withPhone { suite, _, service in
            let id = try await suite.createOperation().operationId
            let history = try await service.history(authenticatedBy: self.right)
            #expect(history.operations.first { $0.id == id }?.status == .pending)
        }
    }

    @Test func languageAndUserAgentArriveAsSet() async throws {
        try await withEmulator { emulator in
            let activation = try await emulator.makeActivation(
                user: "alice",
                password: password,
                client: emulator.makeClient { $0.userAgent = "test-agent" }
            )
            let service = OperationsService(activation: activation)
            for language in [MobileTokenClient.AcceptLanguage.english, try MobileTokenClient.AcceptLanguage("cs")] {
                let position = await emulator.journalPosition
                await service.setAcceptLanguage(language)
                try await service.operations()
                let request = try #require(await emulator.requests(to: "**/operation/list", since: position).last)
                func header(_ name: String) -> String? {
                    request.headers.first { $0.name.lowercased() == name }?.value
                }
                #expect(header("accept-language") == language.description)
                #expect(header("user-agent") == "test-agent")
            }
        }
    }
}
