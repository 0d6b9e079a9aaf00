import Testing
import WireFacts

import PowerAuth
@testable import PowerAuthClient

/// The fate of a temporary key, for each kind of call and each way in which servers fail it.
@Suite(.wireFact("A4", "A5", "4.2")) struct TemporaryKeyRuleTests {
    struct Refusal: CustomTestStringConvertible {
        let call: EncryptedCall
        var status = 400
        let code: String?
        var message = "m"
        let verdict: TemporaryKeyVerdict

        var testDescription: String { "\(self.call) \(self.status) \(self.code ?? "-") \(self.message)" }

        var error: MobileTokenError {
            let codes: [String: MobileTokenError.Code] = [
                "ERR_TEMPORARY_KEY": .temporaryKeyRefused, "ERR_ENCRYPTION": .encryptionFailed,
                "ERR_ACTIVATION": .activationFailed, "ERR_SECURE_VAULT": .vaultUnlockFailed,
                "ERR_UPGRADE": .upgradeFailed, "ERR_AUTHENTICATION": .authenticationFailed,
                "POWERAUTH_AUTH_FAIL": .authenticationFailed,
            ]
            let code = self.code.map { codes[$0] ?? .serverError } ?? .httpStatus
            return MobileTokenError(code, self.message, httpStatus: self.status, serverCode: self.code)
        }
    }

    private static let wrongCode = "POWER_AUTH_CODE_INVALID"

    @Test(arguments: [
        Refusal(call: .unauthenticated, code: "ERR_ENCRYPTION", verdict: .renew),
        Refusal(call: .unauthenticated, code: "ERR_USER_INFO", verdict: .keep),
        Refusal(call: .unauthenticated, status: 500, code: nil, verdict: .keep),
        Refusal(call: .activationStatus, code: "ERR_ACTIVATION", verdict: .renew),
        Refusal(call: .activationStatus, code: "ERR_ENCRYPTION", verdict: .renew),
        Refusal(call: .activationStatus, status: 404, code: nil, verdict: .keep),
        // A one-time password is not tried twice.
        Refusal(call: .activationCreation, code: "ERR_ACTIVATION", verdict: .drop),
        Refusal(call: .activationCreation, code: "ERR_VALIDATION", verdict: .keep),
        Refusal(call: .token, status: 401, code: "ERR_AUTHENTICATION", verdict: .drop),
        Refusal(call: .token, code: "ERR_ENCRYPTION", verdict: .renew),
        Refusal(call: .token, code: "INVALID_REQUEST", verdict: .keep),
        Refusal(call: .signedEnvelope, code: "ERR_PASSWORD_CHANGE", verdict: .renew),
        Refusal(call: .signedEnvelope, code: "ERR_BIOMETRY", verdict: .renew),
        Refusal(call: .signedEnvelope, code: "ERR_UPGRADE", verdict: .renew),
        Refusal(call: .signedEnvelope, code: "ERR_SECURE_VAULT", verdict: .renew),
        // All have one message (recordings, core: `token/create envelope temporaryKeyId capitals`): the status tells.
        Refusal(call: .signedEnvelope, status: 401, code: "ERR_AUTHENTICATION", message: wrongCode, verdict: .keep),
        Refusal(call: .signedEnvelope, code: "ERR_VALIDATION", verdict: .keep),
        // Each of these is a failure of five.
        Refusal(call: .signedContent, status: 401, code: "ERR_AUTHENTICATION", message: wrongCode, verdict: .drop),
        Refusal(call: .signedContent, status: 401, code: "POWERAUTH_AUTH_FAIL", verdict: .drop),
        Refusal(call: .signedContent, status: 401, code: nil, verdict: .drop),
        Refusal(call: .signedContent, code: "ERR_ENCRYPTION", verdict: .drop),
        Refusal(call: .signedContent, code: "ERR_TEMPORARY_KEY", verdict: .drop),
        Refusal(call: .signedContent, code: "INVALID_REQUEST", verdict: .keep),
    ])
    func aRefusalIsJudgedByTheCall(refusal: Refusal) {
        #expect(TemporaryKeyVerdict(refusal.call, refusal.error) == refusal.verdict)
    }

    @Test(arguments: EncryptedCall.allCases) func whatIsSaidInSoManyWordsIsBelieved(call: EncryptedCall) {
        let error = MobileTokenError(.temporaryKeyRefused, "m", httpStatus: 400, serverCode: "ERR_TEMPORARY_KEY")
        #expect(TemporaryKeyVerdict(call, error) == (call == .signedContent ? .drop : .renew))
    }

    /// Real servers go on without content when they cannot open a request, and say so by an empty answer.
    @Test(.wireFact("2.1", "B2"), arguments: EncryptedCall.allCases)
    func anEmptyAnswerMeansThatTheRequestWasNotOpened(call: EncryptedCall) throws {
        let body = EncodedBody(bytes: [], temporaryKeyID: "k")
        let error = try #require(throws: MobileTokenError.self) {
            try ServerResponse([]).opened(by: body, of: "/path")
        }
        // Another party may have answered, after a code for a new activation was used.
        let isRenewed = ![.signedContent, .activationCreation].contains(call)
        #expect(TemporaryKeyVerdict(call, error) == (isRenewed ? .renew : .drop))
        #expect(throws: MobileTokenError.self) {
            try ServerResponse([], httpStatus: 204).opened(by: body, of: "/path")
        }
    }

    @Test(arguments: [
        // Status, counter, and the repair of a first refusal, of a second one.
        (
            EncryptedCall?.some(.signedEnvelope), false, true,
            MobileTokenObservation.RetryReason?.some(.temporaryKeyRenewed),
            MobileTokenObservation.RetryReason?.none
        ),
        (.signedEnvelope, true, true, .counterMoved, nil), (.signedEnvelope, true, false, .counterMoved, nil),
        (.signedEnvelope, false, false, nil, nil), (.signedContent, true, true, nil, nil),
        (nil, false, true, nil, nil), (nil, true, true, .counterMoved, nil),
    ])
    func eachRepairIsMadeOnce(
        call: EncryptedCall?,
        isOfCounter: Bool,
        isFollowed: Bool,
        first: MobileTokenObservation.RetryReason?,
        second: MobileTokenObservation.RetryReason?
    ) {
        let finding = RefusalFinding(
            isOfCounter: isOfCounter,
            isFollowed: isFollowed,
            error: MobileTokenError(.httpStatus, "")
        )
        var repairs = ExchangeRepairs()
        #expect(repairs.choose(after: finding, of: call) == first)
        #expect(repairs.choose(after: finding, of: call) == second)
    }

    /// Nobody knows what the endpoint did.
    @Test(arguments: EncryptedCall.allCases) func anAnswerThatCannotBeOpenedDropsTheKey(call: EncryptedCall) {
        #expect(TemporaryKeyVerdict(call, MobileTokenError(.invalidResponse, "m", httpStatus: 200)) == .drop)
        #expect(TemporaryKeyVerdict(call, MobileTokenError(.connectionLost, "m")) == .keep)
        #expect(TemporaryKeyVerdict(call, MobileTokenError(.encryptionFailed, "ours")) == .keep)
    }

    @Test(arguments: [
        ("/pa/v4/activation/status", EncryptedCall.activationStatus),
        ("/pa/v3/activation/create", .activationCreation), ("/pa/v4/activation/create", .activationCreation),
        ("/pa/v3/user/info", .unauthenticated), ("/api/config/oidc", .unauthenticated),
        ("/api/activation/create", .unauthenticated),
    ])
    func aCallWithoutACodeIsKnownByItsPath(path: String, call: EncryptedCall) {
        #expect(EncryptedCall(unauthenticated: path) == call)
    }

    /// An application's own endpoint may have any path, also one that looks like a standard call's.
    @Test(.wireFact("A4", "2.1")) func aCallWithACodeIsKnownByWhatTheCodeCovers() {
        let envelope = EncodedBody(bytes: [1], temporaryKeyID: "k")
        var content = envelope
        content.signedPlaintext = [2]
        #expect(EncryptedCall(signed: envelope) == .signedEnvelope)
        #expect(EncryptedCall(signed: content) == .signedContent)
    }
}
