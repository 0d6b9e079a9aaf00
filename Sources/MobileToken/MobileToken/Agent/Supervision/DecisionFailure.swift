import PowerAuthClient

/// The consequence of a failed decision.
enum DecisionFailure {
    /// The operation is over: decided elsewhere, canceled, failed or expired.
    case finished
    /// The available factors cannot sign the operation.
    case unusable
    /// The server refused the decision permanently.
    case final
    /// Nothing more can be decided with the activation.
    case ofActivation
    /// Deciding is paused; nothing was signed.
    case paused
    /// The decision would pass a limit; nothing was signed.
    case limited(String)
    /// A retry may succeed.
    case passing

    init(_ error: MobileTokenError) {
        self =
            switch error.code {
            case .invalidOperation: .finished
            case _ where !error.kinds.isDisjoint(with: [.decidedBefore, .expired]): .finished
            case .notAuthorizable, .factorsNotAllowed: .unusable
            case .decidingPaused: .paused
            case .limitReached: .limited(error.limit ?? "")
            // A few wrong signatures block the activation, so the first one stops it. A failure that the server did not count
            // does not involve the factors, and a proxy's page does not involve the server.
            case .authenticationFailed:
                error.isServersRefusal && error.remainingAttempts != nil ? .ofActivation : .passing
            case .invalidAuthentication, .signaturesAreLost: .ofActivation
            case .unknownActivation, .activationRemoved, .deadlock, .stateRolledBack, .storeCorrupted,
                .storeFromFuture, .storeWrongSealingKey:
                .ofActivation
            default: error.isServersLastWord ? .final : .passing
            }
    }
}

extension MobileTokenError {
    /// Indicates whether the server refused, and would do so again.
    fileprivate var isServersLastWord: Bool {
        guard self.isServersRefusal, self.retryAfter == nil else { return false }
        switch self.code {
        // An action at the server ends these states.
        case .activationBlocked, .activationPending: return false
        default: return self.httpStatus != 429
        }
    }
}
