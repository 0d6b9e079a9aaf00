public import MobileTokenEmulator

/// What goes wrong, in the words of a test. Paths are those of ``FaultRule``: `**/operation/list` is one, all is another.
extension FaultRule {
    /// The connection ends before the server has looked at the request.
    public static func losingRequests(to path: String = "**", first: Int? = nil) -> Self {
        Self(match: Match(path: path, first: first), effect: Effect(reset: .before))
    }

    /// The server does what is asked, and the connection ends instead of the answer.
    public static func losingAnswers(of path: String = "**", first: Int? = nil) -> Self {
        Self(match: Match(path: path, first: first), effect: Effect(reset: .after))
    }

    /// The server refuses to look at the request.
    public static func answering(
        _ status: Int,
        retryAfter: Int? = nil,
        to path: String = "**",
        first: Int? = nil
    ) -> Self {
        Self(match: Match(path: path, first: first), effect: Effect(status: status, retryAfter: retryAfter))
    }

    /// The server does what is asked, and the answer's body is spoilt.
    public static func spoiling(_ body: Effect.Body, of path: String = "**", first: Int? = nil) -> Self {
        Self(match: Match(path: path, first: first), effect: Effect(body: body))
    }

    /// The server takes the request for one of another time.
    public static func skewingClock(by seconds: Double, for path: String = "**", first: Int? = nil) -> Self {
        Self(match: Match(path: path, first: first), effect: Effect(clockSkew: seconds))
    }
}
