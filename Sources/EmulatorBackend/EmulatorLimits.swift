/// The limits of the server. The defaults are those of the real servers.
///
/// Values out of the documented ranges are refused when a server starts.
public struct EmulatorLimits: Sendable, Codable, Hashable {
    /// The number of steps ahead of its own counter in which the server looks for a signature's: 1 to 64.
    public var lookAhead: Int = 20
    /// After how many failed authentications in a row an activation is blocked: 1 to 255.
    public var failedAttempts: Int = 5
    /// The seconds for which an activation of version 4 is blocked after its last failed authentication: up to a year. `nil`, the
    /// default, blocks it until an administrator unblocks it, as activations of version 3 always are.
    ///
    /// When the block ends, one more attempt is free; if that fails, the next block lasts ``temporaryBlockMultiplier`` times as
    /// long.
    public var temporaryBlock: Double?
    /// The factor by which each temporary block is longer than the one before: 1 to 100.
    public var temporaryBlockMultiplier: Double = 2
    /// The lifetime of an activation code in seconds: up to a year.
    public var activationCodeLifetime: Double = 300
    /// The seconds by which a token's timestamp may lie behind the server's time: up to a year. `nil`, the default, for what the
    /// release of the ``EmulatorServerProfile`` has.
    public var tokenTimestampAge: Double?
    /// The seconds by which a token's timestamp may run ahead of the server's time: up to a year. `nil`, the default, for what the
    /// release has.
    public var tokenTimestampAhead: Double?
    /// The seconds by which the timestamp of an encrypted request may run ahead of the server's time: up to a year. `nil`, the
    /// default, for what the release has.
    public var encryptionTimestampAhead: Double?
    /// The lifetime of a temporary key in seconds: up to a year.
    public var temporaryKeyLifetime: Double = 300
    /// The step of the proximity code, in whole seconds: 1 to 3600.
    public var proximityCodeStep: Double = 30
    /// The number of digits in each group of an offline code: 4 to 8.
    public var offlineCodeDigits: Int = 8
    /// After how many failed approvals an operation fails, unless its template says otherwise: 1 to 255.
    public var operationFailures: Int = 5
    /// The seconds for which an operation waits for a decision, unless its template says otherwise: up to a year.
    public var operationLifetime: Double = 300
    /// The number of operations that the list and the history show: 1 to 10 000.
    public var listLength: Int = 100

    /// The limits of the real servers.
    public init() {}
}

extension EmulatorLimits {
    /// The duration of the nth temporary block in a row: a year at most; `nil` where blocks do not end by themselves.
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
