import MobileToken
import MobileTokenOffline
import Testing

/// The demands of the phone SDKs' suites on approvals without a network.
@Suite(.timeLimit(.minutes(5))) struct PhoneSuiteOfflineTests {
    private func withCode(
        _ body: (PhoneSuite, Activation, PhoneSuite.Operation, PhoneSuite.OfflineCode) async throws -> Void
    ) async throws {
        try await PhoneSuite.run { suite in
            let activation = try await suite.activate()
            let operation = try await suite.createOperation()
            let path = "/v2/operations/\(operation.operationId)/offline/qr?registrationId=\(activation.activationID)"
            try await body(suite, activation, operation, try await suite.get(path))
        }
    }

    @Test func aCodeIsVerifiedSignedAndAccepted() async throws {
        try await self.withCode { suite, activation, operation, code in
            let service = OperationsService(activation: activation)
            let received = try OfflineOperation.Unverified(parsing: code.operationQrCodeData)
            let verified = try service.verify(received)
            #expect(verified.id == operation.operationId)
            #expect(verified.signingKey == .personalized)
            #expect(verified.nonce == code.nonce)
            let otp = try await service.authorize(
                offline: received,
                with: .possessionAndKnowledge(password: PhoneSuite.pin)
            )
            let verdict: PhoneSuite.OfflineVerdict = try await suite.post(
                "/v2/operations/\(operation.operationId)/offline/otp",
                """
                {"otp": "\(otp)", "nonce": "\(code.nonce)", "registrationId": "\(activation.activationID)"}
                """
            )
            #expect(verdict.otpValid)
            #expect(verdict.userId == suite.user)
            #expect(verdict.registrationId == activation.activationID)
            #expect(verdict.registrationStatus == "ACTIVE")
            #expect(verdict.signatureType == "POSSESSION_KNOWLEDGE")
            #expect(verdict.remainingAttempts == 5)
            #expect(try await suite.operation(operation.operationId).status == "APPROVED")
        }
    }

    @Test func aChangedCodeIsReadButNeverBelieved() async throws {
        try await self.withCode { _, activation, _, code in
            let service = OperationsService(activation: activation)
            var lines = code.operationQrCodeData.split(separator: "\n", omittingEmptySubsequences: false).map(
                String.init
            )
            lines[1] += "x"
            let changed = try OfflineOperation.Unverified(parsing: lines.joined(separator: "\n"))
            #expect(throws: (any Error).self) { try service.verify(changed) }
            let error = try await errorCode {
                try await service.authorize(offline: changed, with: .possessionAndKnowledge(password: PhoneSuite.pin))
            }
            #expect(error != nil)
        }
    }
}
