import Basics
package import Foundation

/// The one error that the client of PowerAuth Cloud throws, besides `CancellationError`.
///
/// Match on ``code``. It holds neither credentials nor the body of a request or a response.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new kind breaks no caller's `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        init(_ description: String) { self.description = description }
    }

    /// An objection of the server to a member of the request. The value that it objects to is left out: it may be personal.
    public struct Violation: Sendable, Hashable {
        /// The member's name, such as `parameters.amount`.
        public let field: String
        /// The objection in words, for people, exactly as sent.
        public let hint: String

        /// Creates a violation.
        public init(field: String, hint: String) {
            self.field = field
            self.hint = hint
        }
    }

    /// The kind of failure.
    public let code: Code
    /// The failure in words, for people. It may be the server's, exactly as sent; ``description`` shows it escaped and cut.
    public let message: String
    /// The HTTP status of the response, when there was one.
    public let httpStatus: Int?
    /// The server's own error code, such as `ERROR_OPERATION_NOT_FOUND`, exactly as sent.
    public let serverCode: String?
    /// The members of the request that the server objects to, with ``Code/invalidRequest``.
    public let violations: [Violation]
    /// The time for which the server asks to be left alone (`Retry-After`).
    public let retryAfter: Duration?
    /// Indicates whether the call may have been carried out: `false` for one that only reads, one that never left, and one that the
    /// server refused itself.
    ///
    /// The answer was lost, cannot be read, or came from somebody else, such as a proxy; or the server failed, which may have been
    /// after it did the work.
    public let isOutcomeUnknown: Bool
    /// The error that was caught, if any. Its message may come from outside, so ``description`` names its type only.
    public let underlying: (any Error)?

    /// The server's time when it answered; `nil` without an answer that tells it.
    package var date: Date?

    /// Creates an error.
    public init(
        _ code: Code,
        _ message: String,
        httpStatus: Int? = nil,
        serverCode: String? = nil,
        violations: [Violation] = [],
        retryAfter: Duration? = nil,
        isOutcomeUnknown: Bool = false,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.httpStatus = httpStatus
        self.serverCode = serverCode
        self.violations = violations
        self.retryAfter = retryAfter
        self.isOutcomeUnknown = isOutcomeUnknown
        self.underlying = underlying
    }

    /// The code, the message, the violations and the type of the cause, on one line.
    ///
    /// The server's own words are escaped and cut, so that they can neither steer a terminal nor forge the line of a log.
    public var description: String {
        var text = "\(self.code): \(DisplayText.escaped(self.message))"
        if let httpStatus { text += " (HTTP \(httpStatus))" }
        if let serverCode { text += " [\(DisplayText.escaped(serverCode, limit: 64))]" }
        for violation in self.violations.prefix(5) {
            let (field, hint) = (DisplayText.escaped(violation.field, limit: 64), DisplayText.escaped(violation.hint))
            text += "; \(field): \(hint)"
        }
        if self.isOutcomeUnknown { text += "; it may have been carried out" }
        if let underlying { text += ", caused by \(type(of: underlying))" }
        return text
    }
}
