import ExactJSON
import Foundation
import MobileToken
import MobileTokenNotifications
import MobileTokenOffline
import PowerAuth
import Testing
import TestSupport
import WireFacts

@Suite(.timeLimit(.minutes(5))) struct DecisionTests {
    private static let password = Activation.Authentication.possessionAndKnowledge(password: "1234")
    private static let biometryKey = Activation.Authentication.possessionAndBiometry(
        key: SecretBytes(count: 16) { _ in }
    )

    private let channel = ScriptedChannel()
    private let service: OperationsService

    init() {
        self.service = OperationsService(activation: self.channel)
    }

    private func load(_ ids: String...) async throws {
        self.channel.setRule { _ in SampleAnswer.list(ids.map { .sampleOperation($0) }) }
        try await self.service.operations()
        self.channel.setRule(nil)
    }

    // MARK: What is sent, and what becomes of the list

    @Test func authorizingSignsIdAndDataAndTakesTheOperationOffTheList() async throws {
        try await self.load("a", "b")
        var changes = self.service.changes().makeAsyncIterator()
        _ = await changes.next()
        var operation = UserOperation.sample("a")
        operation.proximityCheck = UserOperation.ProximityCheck(
            totp: "123",
            source: .qrCode,
            received: UserOperation.sampleDate - 2
        )
        operation.mobileTokenData = ["risk": 3]
        async let authorized = self.service.authorize(operation, with: Self.password)
        let request = await self.channel.nextRequest()
        #expect(request.path == "/api/auth/token/app/operation/authorize")
        #expect(request.uriID == "/operation/authorize")
        let body = request.json?["requestObject"]
        #expect(body?["id"] == "a")
        #expect(body?["data"] == "A1*A100CZK")
        #expect(body?["proximityCheck"]?["otp"] == "123")
        // In the server's time, whatever the local clock shows.
        #expect(body?["proximityCheck"]?["timestampSent"]?.string?.hasPrefix("2023-11-14T22:13:20") == true)
        #expect(body?["mobileTokenData"] == ["risk": 3])
        request.answer(SampleAnswer.ok)
        _ = try await authorized
        let change = await changes.next()
        #expect(change?.removed.map(\.reason) == [.authorized])
        #expect(change?.source == .authorization)
        #expect(change?.operationIDs == ["b"])
    }

    @Test func rejectingNeedsNoSecondFactorAndHasItsOwnReason() async throws {
        try await self.load("a", "b")
        var changes = self.service.changes().makeAsyncIterator()
        _ = await changes.next()
        async let rejected = self.service.reject(UserOperation.sample("a"), reason: "POSSIBLE_FRAUD")
        let request = await self.channel.nextRequest()
        #expect(request.path == "/api/auth/token/app/operation/cancel")
        #expect(request.uriID == "/operation/cancel")
        #expect(request.json?["requestObject"] == ["id": "a", "reason": "POSSIBLE_FRAUD"])
        request.answer(SampleAnswer.ok)
        _ = try await rejected
        let change = await changes.next()
        #expect(change?.removed.map(\.reason) == [.rejected])
        #expect(change?.source == .rejection)
    }

    /// The server knows no such operation, or somebody was faster: it is off the list before the refreshed list says so.
    @Test(.wireFact("A6", "B9"), arguments: [true, false])
    func anOperationThatTheServerDoesNotKnowIsTakenOffTheList(approves: Bool) async throws {
        try await self.load("a", "b")
        var changes = self.service.changes().makeAsyncIterator()
        _ = await changes.next()
        self.channel.setRule { request in
            throw MobileTokenError(
                request.path.hasSuffix("/list") ? .noConnection : .serverError,
                "no",
                httpStatus: 400,
                serverCode: request.path.hasSuffix("/list") ? nil : "INVALID_OPERATION"
            )
        }
        let error = await #expect(throws: MobileTokenError.self) {
            if approves {
                try await self.service.authorize(UserOperation.sample("a"), with: Self.password)
            } else {
                try await self.service.reject(UserOperation.sample("a"))
            }
        }
        #expect(error?.code == .invalidOperation)
        let change = await changes.next()
        #expect(change?.removed.map(\.reason) == [.disappeared])
        #expect(change?.operationIDs == ["b"])
    }

    @Test(
        .wireFact("A6", "4.3"),
        arguments: [
            ("INVALID_OPERATION", MobileTokenError.Code.invalidOperation), ("INVALID_APPLICATION", .invalidApplication),
            ("OPERATION_REQUIRES_ACTIVATION_FLAG", .activationFlagRequired), ("INBOX_FAILED", .inboxFailed),
        ]
    )
    func codesOfTheServerHaveNamesOfTheirOwn(serverCode: String, code: MobileTokenError.Code) async {
        self.channel.setRule { _ in
            throw MobileTokenError(.serverError, "no", httpStatus: 400, serverCode: serverCode)
        }
        let error = await #expect(throws: MobileTokenError.self) { _ = try await self.service.detail(id: "a") }
        #expect(error?.code == code)
    }

    @Test func anOperationMadeByHandIsTheServersToJudge() async throws {
        let operation = LocalOperation(id: "x", data: "A1", mobileTokenData: ["k": "v"])
        self.channel.setRule { _ in SampleAnswer.ok }
        try await self.service.authorize(operation, with: .possession)
        try await self.service.reject(operation)
        #expect(self.channel.requestCount == 2)
    }

    @Test func anOperationMadeByHandMayHaveAnExpiry() async throws {
        self.channel.setRule { _ in SampleAnswer.ok }
        let inTime = LocalOperation(id: "x", data: "A1", expires: UserOperation.sampleDate + 1)
        try await self.service.authorize(inTime, with: .possession)
        #expect(self.channel.requestCount == 1)
        for expires in [UserOperation.sampleDate, .distantPast, Date(timeIntervalSince1970: .nan)] {
            let late = LocalOperation(id: "x", data: "A1", expires: expires)
            let error = await #expect(throws: MobileTokenError.self) {
                try await self.service.authorize(late, with: .possession)
            }
            #expect(error?.code == .authorizeExpired)
        }
        #expect(self.channel.requestCount == 1)
    }

    @Test func aClaimedOperationJoinsTheListUnlessItIsNotPending() async throws {
        try await self.load("a")
        var changes = self.service.changes().makeAsyncIterator()
        _ = await changes.next()
        self.channel.setRule { request in
            #expect(request.path == "/api/auth/token/app/operation/detail/claim")
            return SampleAnswer.object(.sampleOperation("b"))
        }
        #expect(try await self.service.claim(id: "b").id == "b")
        let change = await changes.next()
        #expect(change?.addedIDs == ["b"])
        #expect(change?.source == .claim)
        self.channel.setRule { _ in SampleAnswer.object(.sampleOperation("c", status: "APPROVED")) }
        #expect(try await self.service.claim(id: "c").status == .approved)
        #expect(self.service.list.operations.map(\.id) == ["a", "b"])
    }

    @Test func detailAndHistoryLeaveTheListAlone() async throws {
        try await self.load("a")
        self.channel.setRule { request in
            guard request.path.hasSuffix("/history") else { return SampleAnswer.object(.sampleOperation("x")) }
            #expect(request.uriID == "/operation/history")
            return SampleAnswer.list("y", "z")
        }
        #expect(try await self.service.detail(id: "x").id == "x")
        #expect(try await self.service.history(authenticatedBy: Self.password).operations.map(\.id) == ["y", "z"])
        #expect(self.service.list.operations.map(\.id) == ["a"])
    }

    // MARK: What is refused before anything is signed

    @Test(arguments: [
        (UserOperation.sample("a", status: "APPROVED"), "notAuthorizable"),
        (.sample("a", status: "POSTPONED"), "notAuthorizable"),
        (.sample("a", variants: []), "notAuthorizable"),
        (.sample("a", variants: ["possession_telepathy"]), "notAuthorizable"),
        (.sample("a", variants: ["possession_biometry"]), "factorsNotAllowed"),
        (.sample("a", expiresIn: 0), "authorizeExpired"),
    ])
    func nothingIsSignedThatTheServerWouldRefuse(operation: UserOperation, code: String) async throws {
        let error = await #expect(throws: MobileTokenError.self) {
            try await self.service.authorize(operation, with: Self.password)
        }
        #expect(error?.code.description == code)
        #expect(self.channel.requestCount == 0)
    }

    @Test func customMembersAreKept() async throws {
        struct PlaySound: Decodable, Equatable { let sound: String }
        self.channel.setRule { _ in
            guard var object = JSONValue.sampleOperation("a").object else { return [] }
            object["sound"] = "ding"
            return SampleAnswer.list([.object(object)])
        }
        let operation = try await self.service.operations().first
        #expect(try operation?.decodeCustom(PlaySound.self) == PlaySound(sound: "ding"))
    }

    @Test func twoFactorsAreAskedForWhereTheServerWantsThem() async throws {
        for call in [
            { try await self.service.authorize(UserOperation.sample("a"), with: .possession) },
            { _ = try await self.service.history(authenticatedBy: .possession) },
        ] as [() async throws -> Void] {
            let error = await #expect(throws: MobileTokenError.self) { try await call() }
            #expect(error?.code == .factorsNotAllowed)
        }
        #expect(self.channel.requestCount == 0)
    }

    // MARK: What the server says

    @Test(arguments: [
        ("OPERATION_ALREADY_FINISHED", ["operationAlreadyFinished"]),
        ("OPERATION_ALREADY_FAILED", ["operationAlreadyFailed"]),
        ("OPERATION_ALREADY_CANCELED", ["operationAlreadyCanceled"]),
        ("OPERATION_EXPIRED", ["authorizeExpired", "rejectExpired", "claimExpired", "detailExpired"]),
        ("OPERATION_FAILED", ["operationFailed"]),
        ("INVALID_ACTIVATION", ["invalidActivation"]),
        ("operation_expired", ["serverError"]),
        ("SOMETHING_NEW", ["serverError"]),
    ])
    func serverCodesAreNamedAfterTheCall(serverCode: String, expected: [String]) async throws {
        self.channel.setRule { _ in
            throw MobileTokenError(.serverError, "no", httpStatus: 400, serverCode: serverCode, remainingAttempts: 3)
        }
        let calls: [() async throws -> Void] = [
            { try await self.service.authorize(UserOperation.sample("a"), with: Self.password) },
            { try await self.service.reject(UserOperation.sample("a")) },
            { _ = try await self.service.claim(id: "a") },
            { _ = try await self.service.detail(id: "a") },
        ]
        for (index, call) in calls.enumerated() {
            let error = await #expect(throws: MobileTokenError.self) { try await call() }
            #expect(error?.code.description == expected[min(index, expected.count - 1)])
            #expect(error?.serverCode == serverCode)
            #expect(error?.httpStatus == 400)
            #expect(error?.remainingAttempts == 3)
        }
    }

    @Test func aDecisionThatFailsLeavesTheOperationOnTheList() async throws {
        try await self.load("a")
        self.channel.setRule { _ in throw MobileTokenError(.authenticationFailed, "no", httpStatus: 401) }
        await #expect(throws: MobileTokenError.self) {
            try await self.service.authorize(UserOperation.sample("a"), with: Self.password)
        }
        self.channel.setRule { _ in Array("garbage".utf8) }
        await #expect(throws: MobileTokenError.self) { try await self.service.reject(UserOperation.sample("a")) }
        #expect(self.service.list.operations.map(\.id) == ["a"])
    }

    // MARK: Cancellation

    @Test func aCancelledDecisionIsSettledByTheNextList() async throws {
        try await self.load("a", "b")
        var changes = self.service.changes().makeAsyncIterator()
        _ = await changes.next()
        let task = Task { _ = try await self.service.authorize(UserOperation.sample("a"), with: Self.password) }
        _ = await self.channel.nextRequest()
        await #expect(throws: CancellationError.self) { try await task.stop() }
        try await self.load("b")
        #expect(await changes.next()?.removed.map(\.reason) == [.disappeared])
    }

    // MARK: Offline

    private func offlineText(flags: String, signature: UInt8 = 7) -> String {
        let signature = Data(repeating: signature, count: 70).base64EncodedString()
        let nonce = Data(0..<16).base64EncodedString()
        return ["id", "Title", "Message", "A1*A100CZK", flags, nonce, "1" + signature].joined(separator: "\n")
    }

    @Test func anOfflineOperationIsSignedAfterItsSignatureWasChecked() async throws {
        let operation = try OfflineOperation.Unverified(parsing: self.offlineText(flags: "B"))
        let code = try await self.service.authorize(offline: operation, with: Self.password)
        #expect(code == "12345678-87654321")
        _ = try await self.service.authorize(offline: operation, uriID: "/custom", with: Self.biometryKey)
        let expected = ScriptedChannel.OfflineRequest(
            data: Array("id&A1*A100CZK".utf8),
            nonce: Array(0..<16),
            uriID: "/operation/authorize/offline",
            componentLength: nil  // as the client is configured
        )
        #expect(self.channel.offlineRequests.first == expected)
        #expect(self.channel.offlineRequests.last?.uriID == "/custom")
        #expect(self.channel.requestCount == 0)
    }

    @Test func anOfflineOperationOfSomebodyElseIsNotSigned() async throws {
        let operation = try OfflineOperation.Unverified(parsing: self.offlineText(flags: "B", signature: 8))
        let error = await #expect(throws: MobileTokenError.self) {
            try await self.service.authorize(offline: operation, with: Self.password)
        }
        #expect(error?.code == .offlineFailed)
        #expect(throws: MobileTokenError.self) { try self.service.verify(operation) }
        #expect(self.channel.offlineRequests.isEmpty)
    }

    @Test func offlineOperationsWantTwoFactorsAndBiometryOnlyWithItsFlag() async throws {
        let operation = try OfflineOperation.Unverified(parsing: self.offlineText(flags: "X"))
        for authentication in [Activation.Authentication.possession, Self.biometryKey] {
            let error = await #expect(throws: MobileTokenError.self) {
                try await self.service.authorize(offline: operation, with: authentication)
            }
            #expect(error?.code == .factorsNotAllowed)
        }
        #expect(self.channel.offlineRequests.isEmpty)
        _ = try await self.service.authorize(offline: operation, with: Self.password)
    }
}
