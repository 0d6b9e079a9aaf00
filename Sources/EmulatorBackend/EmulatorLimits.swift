/// What the server allows. The defaults are those of the real servers.
///
/// Values out of the documented ranges are refused when a server starts.
public struct EmulatorLimits: Sendable, Codable, Hashable {
    /// How many steps ahead of its own counter the server looks for a signature's: 1 to 64.
    public var lookAhead: Int = 20
    /// After how many failed authentications in a row an activation is blocked: 1 to 255.
    public var failedAttempts: Int = 5
    /// How many seconds an activation code can be used: up to a year.
    public var activationCodeLifetime: Double = 300
    /// How many seconds a token's timestamp may lie behind the server's time: up to a year.
    public var tokenTimestampAge: Double = 7200
    /// How many seconds a token's timestamp may run ahead of the server's time: up to a year.
    public var tokenTimestampAhead: Double = 60
    /// How many seconds the timestamp of an encrypted request may run ahead of the server's time: up to a year.
    public var encryptionTimestampAhead: Double = 60
    /// How many seconds a temporary key can be used: up to a year.
    public var temporaryKeyLifetime: Double = 300
    /// The step of the proximity code, in whole seconds: 1 to 3600.
    public var proximityCodeStep: Double = 30
    /// After how many failed approvals an operation fails, unless its template says otherwise: 1 to 255.
    public var operationFailures: Int = 5
    /// How many seconds an operation waits for a decision, unless its template says otherwise: up to a year.
    public var operationLifetime: Double = 300
    /// How many operations the list and the history show: 1 to 10 000.
    public var listLength: Int = 100

    /// The limits of the real servers.
    public init() {}
}
