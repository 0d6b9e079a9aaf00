import Basics

/// The time in which a signed request can reach the server, from one moment on.
///
/// It may begin as long as the right to sign lasts; a right without an end counts from now. From then on it has the client's time-out
/// to leave, and what a proxy may keep it for.
struct ArrivalWindow: Sendable {
    /// The end of the request itself, whatever it waits for on the way.
    private let end: ContinuousClock.Instant
    /// The longest that the request may take.
    private let timeout: Duration
    /// The time from now on after which it cannot arrive any more.
    let length: Duration

    /// - Parameters:
    ///   - notAfter: The end of the right to sign.
    ///   - timeout: The longest that a request may take.
    ///   - arrivalTimeout: The time after its beginning in which a request may still arrive: `timeout`, and what proxies add.
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

    /// Returns the longest that the request may take when it begins at a moment; `nil` when it is too late.
    func timeout(at now: ContinuousClock.Instant) -> Duration? {
        let left = min(self.timeout, now.duration(to: self.end))
        return left > .zero ? left : nil
    }
}
