import PowerAuth

/// The consequence of a decision that was not made.
enum DecisionFailure {
    /// The operation is over: decided elsewhere, canceled, failed or expired.
    case finished
    /// The operation cannot be signed with what there is.
    case unusable
    /// The server will not have this decision.
    case final
    /// Nothing can be decided with the activation any more.
    case ofActivation
    /// Deciding is paused; nothing was signed.
    case paused
    /// It may go better later.
    case passing

    init(_ error: MobileTokenError) {
        self =
            switch error.code {
            case .operationAlreadyFinished, .operationAlreadyFailed, .operationAlreadyCanceled,
                .operationAlreadyRejected,
                .authorizeExpired, .rejectExpired, .invalidOperation:
                .finished
            case .notAuthorizable, .factorsNotAllowed: .unusable
            case .decidingPaused: .paused
            // A few wrong signatures block the activation, so the first one is the last. What the server did not count says nothing
            // of the factors, and the page of a proxy nothing of the server.
            case .authenticationFailed:
                error.isServersRefusal && error.remainingAttempts != nil ? .ofActivation : .passing
            case .invalidAuthentication: .ofActivation
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
        // They pass when somebody at the server does something.
        case .activationBlocked, .activationPending: return false
        default: return self.httpStatus != 429
        }
    }
}
