import MobileToken

/// The exit status of a process. The numbers are documented on the help page and never change their meaning.
package struct ExitCode: Sendable, Hashable {
    package let rawValue: Int32

    package init(rawValue: Int32) { self.rawValue = rawValue }

    package static let done = Self(rawValue: 0)
    package static let refused = Self(rawValue: 1)
    package static let usage = Self(rawValue: 2)
    package static let network = Self(rawValue: 3)
    package static let notFound = Self(rawValue: 4)
    package static let local = Self(rawValue: 5)
    package static let interrupted = Self(rawValue: 130)
}

extension ExitCode {
    /// Creates the exit code for an error of the SDK.
    init(_ error: MobileTokenError) {
        switch error.code {
        case .noConnection, .connectionLost, .timeout, .tlsFailed, .networkUnknown: self = .network
        case .unknownActivation: self = .notFound
        case .invalidConfiguration, .invalidActivationCode, .invalidAuthentication, .invalidLanguage, .invalidName:
            self = .usage
        case .storeUnreadable, .storePermissions, .storeWrongSealingKey, .storeSealingKeyMissing, .storeFull,
            .storeReadOnly, .storeCorrupted, .storeFromFuture, .storeBusy, .storeClosed, .storeFailed,
            .storeUnreachable, .storeOutcomeUnknown, .signingTurnLost,
            .receiptsNotKept, .receiptsDiffer, .cryptographyFailed, .suiteUnavailable, .activationNotSaved,
            .activationNotConfirmed:
            self = .local
        default: self = .refused
        }
    }
}
