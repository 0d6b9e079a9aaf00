import Foundation
import HTTPClientTransport
import MobileTokenReceipts
import MobileTokenReconciliation
import Testing
import WireFacts

@testable import PowerAuthClient

/// Tells errors that say that nothing was decided from those after which it is not known.
@Suite(.wireFact("4.1", "4.3")) struct RequestFailureKindTests {
    // MARK: The server's own word

    private func fate(_ status: Int, _ body: String) -> RequestFailureKind? {
        do {
            _ = try ResponseEnvelope.body(
                of: HTTPResponse(status: status, body: Array(body.utf8)),
                to: "/api/signed",
                now: .distantPast
            )
            return nil
        } catch {
            return error.failureKind
        }
    }

    private static func envelope(_ code: String) -> String {
        #"{"status":"ERROR","responseObject":{"code":"\#(code)","message":"m"}}"#
    }

    @Test(arguments: [
        (401, "POWERAUTH_AUTH_FAIL"), (401, "ERR_AUTHENTICATION"), (401, "OPERATION_FAILED"),
        (400, "OPERATION_ALREADY_FINISHED"), (400, "OPERATION_ALREADY_CANCELED"), (400, "OPERATION_EXPIRED"),
        (400, "INVALID_OPERATION"), (400, "INVALID_REQUEST"), (404, "ERROR_NOT_FOUND"), (429, "TOO_MANY"), (200, "X"),
    ])
    func theServersOwnEnvelopeIsARefusal(status: Int, code: String) {
        #expect(self.fate(status, Self.envelope(code)) == .refused)
    }

    /// A server behind did not answer, or something broke: the work may be done.
    @Test(arguments: [
        (409, "REMOTE_COMMUNICATION_ERROR"), (400, "ERROR_GENERIC"), (500, "ERROR_GENERIC"), (500, "INVALID_REQUEST"),
        (502, "X"), (503, "X"), (408, "X"),
    ])
    func aFailureBehindTheServerIsNone(status: Int, code: String) {
        #expect(self.fate(status, Self.envelope(code)) == .unknown)
    }

    private static let pages = [
        "", "<html>403 Forbidden</html>", "{", "[]", "null", #"{"message":"Forbidden"}"#, #"{"status":"ERROR"}"#,
        #"{"status":"ERROR","responseObject":{"message":"m"}}"#, #"{"status":"ERROR","responseObject":{"code":7}}"#,
        #"{"status":404,"error":"Not Found","path":"/x"}"#, #"{"responseObject":{"code":"INVALID_REQUEST"}}"#,
        #"{"status":"OK","responseObject":{"code":"INVALID_REQUEST"}}"#,
    ]

    @Test(arguments: 300..<600) func thePageOfSomebodyElseIsNone(status: Int) {
        for page in Self.pages { #expect(self.fate(status, page) == .unknown, "\(status) \(page)") }
    }

    // MARK: What a transport says

    private static let transportCodes: [(HTTPTransportError.Code, RequestFailureKind)] = [
        (.connectionFailed, .refused), (.tlsFailed, .refused), (.invalidConfiguration, .refused),
        (.invalidRequest, .refused), (.shutdown, .refused), (.tooLate, .refused),
        (.connectionLost, .unknown), (.timeout, .unknown), (.invalidResponse, .unknown), (.responseTooLarge, .unknown),
    ]

    @Test(arguments: Self.transportCodes) func onlyWhatNeverLeftIsKnown(
        code: HTTPTransportError.Code,
        fate: RequestFailureKind
    ) {
        let error = MobileTokenError.transport(HTTPTransportError(code)) as? MobileTokenError
        #expect(error?.failureKind == fate)
    }

    @Test func whatATransportThrowsOfItsOwnIsNotKnown() {
        struct Strange: Error {}
        #expect((MobileTokenError.transport(Strange()) as? MobileTokenError)?.failureKind == .unknown)
    }

    /// As large a page as no server sends.
    @Test(arguments: [200, 400, 403, 413]) func aResponseTooLargeTellsNothingUnderAnyStatus(status: Int) {
        let error = MobileTokenError.transport(HTTPTransportError(.responseTooLarge, httpStatus: status))
        #expect((error as? MobileTokenError)?.failureKind == .unknown)
    }

    // MARK: All codes

    private static let codes: [MobileTokenError.Code] = [
        .activationAlreadyStored, .activationBlocked, .activationFailed, .activationNotConfirmed, .activationNotSaved,
        .activationNotStored, .activationPending, .activationRemoved, .authenticationFailed, .connectionLost,
        .cryptographyFailed, .deadlinePassed, .deadlock, .decidingPaused, .decisionsOpen, .encryptionFailed,
        .factorOutdated,
        .httpStatus, .invalidActivationCode, .invalidAuthentication, .invalidConfiguration, .invalidLanguage,
        .invalidName, .invalidRequest, .invalidResponse, .networkUnknown, .noConnection, .notSupported,
        .oidcAttemptUsed, .oidcCodeMissing, .oidcParameterRepeated, .oidcRedirectMismatch, .oidcRefused,
        .oidcStateMismatch, .receiptsDiffer, .refusalUnproven, .receiptsNotKept, .serverError, .signingTurnLost,
        .stateRolledBack,
        .storeBusy, .storeClosed, .storeCorrupted, .storeFailed, .storeFromFuture, .storeFull, .storeHasOlderNodes,
        .storeOutcomeUnknown, .storePermissions, .storeReadOnly, .storeSealingKeyMissing, .storeUnreachable,
        .storeUnreadable, .storeWrongSealingKey, .suiteUnavailable, .temporaryKeyRefused, .timeout, .tlsFailed,
        .unknownActivation, .upgradeFailed, .upgradeNotOffered, .vaultUnlockFailed,
        .passwordChangeFailed, .biometryChangeFailed, .userInfoFailed, .serverStatusFailed,
        .serverConfigurationFailed, .activationCodeFailed, .remoteCommunicationFailed,
    ]

    /// A failure after a response, or at an unknown moment, is none of them, however it is called.
    @Test(arguments: Self.codes) func withoutTheServersWordFourCodesAloneAreCertain(code: MobileTokenError.Code) {
        let certain: Set<MobileTokenError.Code> = [.noConnection, .tlsFailed, .invalidConfiguration, .signingTurnLost]
        #expect(MobileTokenError(code, "").failureKind == (certain.contains(code) ? .refused : .unknown))
        #expect(MobileTokenError(code, "", httpStatus: 403).failureKind == .unknown)
        #expect(MobileTokenError(code, "", httpStatus: 500, serverCode: "X").failureKind == .unknown)
        let isOutage = [.encryptionFailed, .refusalUnproven, .remoteCommunicationFailed, .temporaryKeyRefused].contains(
            code
        )
        #expect(
            MobileTokenError(code, "", httpStatus: 400, serverCode: "X").failureKind == (isOutage ? .unknown : .refused)
        )
    }

    /// A person reads what follows, and nothing of that kind where the fate is known.
    @Test(arguments: [
        (
            "/pa/v3/activation/remove", MobileTokenError(.httpStatus, "m", httpStatus: 403),
            "it may have been carried out"
        ),
        ("/api/own", MobileTokenError(.timeout, "m"), "it may have been carried out"),
        (
            "/api/auth/token/app/operation/list", MobileTokenError(.httpStatus, "m", httpStatus: 403),
            "could not be asked"
        ),
        ("/pa/v4/status", MobileTokenError(.connectionLost, "m"), "could not be asked"),
        ("/pa/v3/activation/remove", MobileTokenError(.noConnection, "m"), nil),
        ("/api/own", MobileTokenError(.invalidRequest, "m", httpStatus: 400, serverCode: "X"), nil),
    ])
    func theDescriptionSaysWhatFollows(path: String, error: MobileTokenError, words: String?) throws {
        let told = try #require(MobileTokenError.ofCall(path, error) as? MobileTokenError)
        for text in [told.description, told.messageAndConsequence] {
            #expect(text.contains(words ?? "m") && text.contains(";") == (words != nil))
        }
        #expect(told.message == "m")
    }

    // MARK: What an observer is told

    @Test(arguments: [
        (MobileTokenError(.authenticationFailed, "", httpStatus: 401, serverCode: "POWERAUTH_AUTH_FAIL"), "refused"),
        (MobileTokenError(.invalidRequest, "", httpStatus: 200, serverCode: "X"), "refused"),
        (MobileTokenError(.httpStatus, "", httpStatus: 403), "failed"),
        (MobileTokenError(.httpStatus, "", httpStatus: 302), "failed"),
        (
            MobileTokenError(.remoteCommunicationFailed, "", httpStatus: 409, serverCode: "REMOTE_COMMUNICATION_ERROR"),
            "failed"
        ),
        (MobileTokenError(.serverError, "", httpStatus: 503, serverCode: "X"), "failed"),
        // Certain, and no word of the server's.
        (MobileTokenError(.noConnection, ""), "failed"),
    ])
    func anObservationSaysRefusedOfTheServersOwnWordAlone(error: MobileTokenError, outcome: String) {
        #expect(MobileTokenObservation.Request.Result(error, duration: .zero).outcome.description == outcome)
    }
}
