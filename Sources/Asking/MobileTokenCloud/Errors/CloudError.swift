import Basics
package import Foundation

/// The only error that the client of PowerAuth Cloud throws, besides `CancellationError`. Match on ``code``.
///
/// It contains neither credentials nor the body of a request or a response.
public struct CloudError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind.
        public let description: String

        init(_ description: String) { self.description = description }
    }

    /// The server's objection to a member of the request, without the value, which may be personal.
    public struct Violation: Sendable, Hashable {
        /// The member's name, such as `parameters.amount`.
        public let field: String
        /// The objection for people, exactly as sent.
        public let hint: String

        /// Creates a violation.
        public init(field: String, hint: String) {
            self.field = field
            self.hint = hint
        }
    }

    /// The kind of failure.
    public let code: Code
    /// A message for people. A server's message is kept exactly as sent; ``description`` shows it escaped and truncated.
    public let message: String
    /// The HTTP status of the response, if there was one.
    public let httpStatus: Int?
    /// The server's own error code, such as `ERROR_OPERATION_NOT_FOUND`, exactly as sent.
    public let serverCode: String?
    /// The members that the server objects to, with ``Code/invalidRequest``.
    public let violations: [Violation]
    /// The delay that the server asks for (`Retry-After`).
    public let retryAfter: Duration?
    /// Indicates that the call may have been carried out: its response was lost, unreadable or another party's, or the server
    /// failed. `false` for read-only calls, requests that were not sent, and the server's own refusals.
    public let isOutcomeUnknown: Bool
    /// The underlying error, if any. Its message may come from outside, so ``description`` shows only its type.
    public let underlying: (any Error)?

    /// The server's time of the response, if known.
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
    /// Text from the server is escaped and truncated, so that it can neither control a terminal nor forge log lines.
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
