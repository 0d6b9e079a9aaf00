import Basics

/// The period in which a signed request can reach the server. It may start while the right to sign lasts; a right without an end
/// starts now. Then the client's timeout and the time a proxy may hold the request apply.
struct ArrivalWindow: Sendable {
    private let end: ContinuousClock.Instant
    private let timeout: Duration
    /// The time from now after which the request can no longer arrive.
    let length: Duration

    /// - Parameters:
    ///   - notAfter: The end of the right to sign.
    ///   - timeout: The client's timeout.
    ///   - arrivalTimeout: `timeout` plus the time a proxy may hold the request.
    init(
        at now: ContinuousClock.Instant,
        notAfter: ContinuousClock.Instant?,
        timeout: Duration,
        arrivalTimeout: Duration
    ) {
        let right = notAfter.map { max(.zero, now.duration(to: $0).bounded) } ?? .zero
        self.end = now + right + timeout
        self.timeout = timeout
        self.length = right + arrivalTimeout
    }

    /// Returns the timeout for a request that starts now; `nil` if it is too late.
    func timeout(at now: ContinuousClock.Instant) -> Duration? {
        let left = min(self.timeout, now.duration(to: self.end))
        return left > .zero ? left : nil
    }
}
