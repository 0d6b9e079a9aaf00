import Basics

extension MobileTokenError {
    /// Indicates whether the same call may succeed later without intervention: the network, an overloaded
    /// server or one behind it, a garbled response, a store that is busy or full.
    package var isPassing: Bool {
        switch self.code {
        case .noConnection, .connectionLost, .timeout, .networkUnknown, .invalidResponse: true
        case .remoteCommunicationFailed: true
        case .storeBusy, .storeFull, .storeFailed, .storeUnreachable, .storeOutcomeUnknown, .signingTurnLost: true
        default: self.httpStatus.map { $0 >= 500 || $0 == 429 || $0 == 408 } ?? false
        }
    }

    /// Returns the error of a wait that ended without what it waited for.
    ///
    /// - Parameters:
    ///   - event: The event that was waited for, as the end of a sentence.
    ///   - failure: The last thing that went wrong meanwhile, if anything.
    package static func deadlinePassed(waitingFor event: String, after limit: Duration, failure: Self?) -> Self {
        let cause = failure.map { "; the last attempt failed: \($0)" } ?? ""
        return Self(.deadlinePassed, "\(limit.bounded) passed without \(event)\(cause)", underlying: failure)
    }
}
