import MobileToken
import MobileTokenReceipts
import MobileTokenReconciliation

/// The exit status of a process. The help page documents the numbers, which never change their meaning.
package struct ExitCode: Sendable, Hashable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let done = Self(rawValue: 0)
    package static let refused = Self(rawValue: 1)
    package static let usage = Self(rawValue: 2)
    package static let unavailable = Self(rawValue: 3)
    package static let notFound = Self(rawValue: 4)
    package static let local = Self(rawValue: 5)
    package static let over = Self(rawValue: 6)
    package static let wrongFactors = Self(rawValue: 7)
    package static let blocked = Self(rawValue: 8)
    package static let removed = Self(rawValue: 9)
    package static let notInTime = Self(rawValue: 10)
    package static let untrusted = Self(rawValue: 11)
    package static let doubtful = Self(rawValue: 12)
    package static let differing = Self(rawValue: 13)
    package static let configuration = Self(rawValue: 78)
    package static let rejected = Self(rawValue: 80)
    package static let expired = Self(rawValue: 81)
    package static let canceled = Self(rawValue: 82)
    package static let askingFailed = Self(rawValue: 83)
    package static let performedBefore = Self(rawValue: 84)
    package static let askedBefore = Self(rawValue: 85)
    package static let unverified = Self(rawValue: 86)
    package static let unknownOutcome = Self(rawValue: 87)
    package static let interrupted = Self(rawValue: 130)

    /// The meaning of each code, for the help page and the manual.
    static let meanings: [(code: Self, meaning: String)] = [
        (.done, "done"),
        (.refused, "refused by the server, for a reason that has no code below"),
        (.usage, "wrong usage"),
        (
            .unavailable,
            "no connection, or no answer of the server's own that can be read: a change may have been made. Try again"
        ),
        (.notFound, "no such activation, operation or message"),
        (.local, "trouble on this machine: the store, the output"),
        (.over, "the operation has expired, or was decided or canceled before"),
        (.wrongFactors, "the password is wrong: the server counted a failed attempt"),
        (.blocked, "the activation is blocked"),
        (.removed, "the activation was removed from the server"),
        (.notInTime, "what was waited for did not happen in time"),
        (.untrusted, "the server's certificate or key is not the expected one"),
        (.doubtful, "the operation leaves doubts that --accept does not name; nothing was signed"),
        (.differing, "the receipts and the bank's history differ, or a decision is open"),
        (.configuration, "a setting is wrong: the sealing key, or a profile that cannot be read"),
        (.rejected, "ask: a person said no"),
        (.expired, "ask: nobody decided in time, or the approval was too old to be used"),
        (.canceled, "ask: the question was withdrawn, or canceled at the server"),
        (.askingFailed, "ask: nobody can approve it any more, or there is no device that may"),
        (.performedBefore, "ask: the approval was used before"),
        (.askedBefore, "ask: other content was asked under this name before"),
        (.unverified, "ask: the server, or a file, has something else than what was asked, or it cannot be verified"),
        (.unknownOutcome, "ask: it was begun before, and nobody knows how far it came: see 'ask settle'"),
        (.interrupted, "interrupted"),
    ]
}

extension ExitCode {
    init(_ error: MobileTokenError) {
        // Only the server refuses. A proxy or a failing server may respond after the request was executed.
        guard error.httpStatus == nil || error.isServersRefusal else {
            self = .unavailable
            return
        }
        switch error.code {
        case .noConnection, .connectionLost, .timeout, .networkUnknown, .invalidResponse, .outcomeUnknown,
            .signaturesAreLost:
            self = .unavailable
        // Not `unavailable`, which scripts retry: an attacker may be between this machine and the server.
        case .tlsFailed: self = .untrusted
        case .unknownActivation, .invalidOperation: self = .notFound
        case .invalidConfiguration, .invalidActivationCode, .invalidAuthentication, .invalidLanguage, .invalidName:
            self = .usage
        case _ where !error.kinds.isDisjoint(with: [.decidedBefore, .expired]): self = .over
        case .authenticationFailed: self = .wrongFactors
        case .activationBlocked: self = .blocked
        case .activationRemoved: self = .removed
        case .deadlinePassed: self = .notInTime
        case .decisionsOpen: self = .differing
        // Not `local`: neither a restart nor disk space fixes it.
        case .storeWrongSealingKey, .storeSealingKeyMissing: self = .configuration
        case .storeUnreadable, .storePermissions, .storeReplaced, .storeFull, .storeReadOnly, .storeCorrupted,
            .storeFromFuture,
            .storeBusy, .storeClosed, .storeFailed,
            .storeUnreachable, .storeOutcomeUnknown, .storeHasOlderNodes, .signingTurnLost,
            .receiptsNotKept, .receiptsDiffer, .cryptographyFailed, .suiteUnavailable, .activationNotSaved,
            .activationNotConfirmed:
            self = .local
        default: self = error.httpStatus == 429 ? .unavailable : .refused
        }
    }
}
