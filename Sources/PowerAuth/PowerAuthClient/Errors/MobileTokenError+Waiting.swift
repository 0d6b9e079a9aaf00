import Basics

extension MobileTokenError {
    /// Returns the error of a wait that timed out.
    ///
    /// - Parameters:
    ///   - event: The awaited event, as the end of a sentence.
    ///   - failure: The last failure meanwhile, if any.
    package static func deadlinePassed(waitingFor event: String, after limit: Duration, failure: Self?) -> Self {
        let cause = failure.map { "; the last attempt failed: \($0)" } ?? ""
        return Self(.deadlinePassed, "\(limit.bounded) passed without \(event)\(cause)", underlying: failure)
    }
}
