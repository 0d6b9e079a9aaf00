import Basics
import PowerAuthProtocol

/// The one error that this SDK throws, besides `CancellationError`.
///
/// Match on ``code``. No password, key, token secret or QR content is in any of its strings, so it may be logged
/// freely.
public struct MobileTokenError: Error, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new kind breaks no caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        package init(_ description: String) { self.description = description }
    }

    /// The kind of failure.
    public package(set) var code: Code
    /// The failure in words, for people. It may be the server's, exactly as sent; ``description`` shows it escaped and cut.
    public let message: String
    /// The HTTP status of the response, when there was one.
    public package(set) var httpStatus: Int?
    /// The server's own error code, such as `OPERATION_EXPIRED`, exactly as sent.
    public let serverCode: String?
    /// The number of attempts that are left before the activation is blocked, where this error is of a failed attempt and the server tells.
    public package(set) var remainingAttempts: Int?
    /// The time for which the server asks to be left alone (`Retry-After`).
    public let retryAfter: Duration?
    /// The activation that was made, though the call failed: of `activationNotConfirmed` and `activationNotSaved`.
    public package(set) var activationID: String?
    /// The latest signature of the decision that failed; `nil` when nothing was decided, or nothing signed.
    package var decision: SignedDecision?
    /// The error that was caught, if any. Its message may come from outside, so ``description`` names its type only.
    public let underlying: (any Error)?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        serverCode: String? = nil,
        remainingAttempts: Int? = nil,
        retryAfter: Duration? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.serverCode = serverCode
        self.remainingAttempts = remainingAttempts
        self.retryAfter = retryAfter
        self.underlying = underlying
    }

    /// The code, the message and the type of the cause, on one line.
    ///
    /// The server's own words are escaped and cut, so that they can neither steer a terminal nor forge the line of a log.
    public var description: String {
        var text = "\(self.code): \(DisplayText.escaped(self.message))"
        if let httpStatus { text += " (HTTP \(httpStatus))" }
        if let serverCode { text += " [\(DisplayText.escaped(serverCode, limit: 64))]" }
        if let remainingAttempts { text += ", \(remainingAttempts) attempts left" }
        if let underlying { text += ", caused by \(type(of: underlying))" }
        return text
    }
}
