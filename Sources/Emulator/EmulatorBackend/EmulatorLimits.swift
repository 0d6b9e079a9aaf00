/// The limits of the server, by default those of the real servers.
///
/// Values outside the documented ranges are refused when a server starts.
public struct EmulatorLimits: Sendable, Codable, Hashable {
    /// The number of counters ahead of its own that the server tries for a signature: 1 to 64.
    public var lookAhead: Int = 20
    /// The number of consecutive failed authentications that blocks an activation: 1 to 255.
    public var failedAttempts: Int = 5
    /// The seconds that a version 4 activation is blocked after its last failed authentication: up to a year. `nil`, the default,
    /// blocks it until an administrator unblocks it, as always in version 3.
    ///
    /// After the block, one attempt is free; if it fails, the next block lasts ``temporaryBlockMultiplier`` times as long.
    public var temporaryBlock: Double?
    /// The factor between the lengths of consecutive temporary blocks: 1 to 100.
    public var temporaryBlockMultiplier: Double = 2
    /// The lifetime of an activation code in seconds: up to a year.
    public var activationCodeLifetime: Double = 300
    /// The maximum age of a token's timestamp in seconds: up to a year. `nil`, the default, is the value of the
    /// ``EmulatorServerProfile``'s release.
    public var tokenTimestampAge: Double?
    /// The maximum lead of a token's timestamp over the server's time in seconds: up to a year. `nil`, the default, is the
    /// release's value.
    public var tokenTimestampAhead: Double?
    /// The maximum lead of an encrypted request's timestamp over the server's time in seconds: up to a year. `nil`, the default,
    /// is the release's value.
    public var encryptionTimestampAhead: Double?
    /// The lifetime of a temporary key in seconds: up to a year.
    public var temporaryKeyLifetime: Double = 300
    /// The step of the proximity code, in whole seconds: 1 to 3600.
    public var proximityCodeStep: Double = 30
    /// The number of digits in each group of an offline code: 4 to 8.
    public var offlineCodeDigits: Int = 8
    /// The number of failed approvals that makes an operation fail, unless its template sets it: 1 to 255.
    public var operationFailures: Int = 5
    /// The time to decide an operation in seconds, unless its template sets it: up to a year.
    public var operationLifetime: Double = 300
    /// The maximum length of the list and the history: 1 to 10 000.
    public var listLength: Int = 100

    /// Creates the limits of the real servers.
    public init() {}
}

extension EmulatorLimits {
    /// Returns the length of the nth consecutive temporary block, at most a year; `nil` if blocks do not end by themselves.
    func lengthOfTemporaryBlock(_ number: Int) -> Milliseconds? {
        guard let first = self.temporaryBlock else { return nil }
        let year = 31_536_000.0
        var (seconds, left) = (first, number - 1)
        while left > 0, seconds < year, self.temporaryBlockMultiplier > 1 {
            seconds *= self.temporaryBlockMultiplier
            left -= 1
        }
        return min(seconds, year).inMilliseconds
    }
}
