import Basics

/// The only error that this SDK throws, besides `CancellationError`. Match on ``code``.
///
/// Its strings contain no password, key, token secret or QR content, so it may be logged.
public struct MobileTokenError: Error, CustomStringConvertible {
    /// The kind of failure. A struct, so that a new kind breaks no `switch`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name of the kind, for logs, metrics and programs in other languages.
        public let rawValue: String

        /// Returns the kind with this name, which may be none of this version's.
        public init(rawValue: String) { self.rawValue = rawValue }

        package init(_ name: String) { self.rawValue = name }

        /// The name of the kind.
        public var description: String { self.rawValue }
    }

    /// The kind of failure.
    public package(set) var code: Code
    /// A message for people. A server's message is kept exactly as sent; ``description`` shows it escaped and truncated.
    public let message: String
    /// The HTTP status of the response, if there was one.
    public package(set) var httpStatus: Int?
    /// The server's own error code, such as `OPERATION_EXPIRED`, exactly as sent.
    public let serverCode: String?
    /// The attempts left before the activation is blocked, after a failed attempt if the server reports them.
    public package(set) var remainingAttempts: Int?
    /// The delay that the server asks for (`Retry-After`).
    public package(set) var retryAfter: Duration?
    /// The new activation's identifier, with `activationNotConfirmed` and `activationNotSaved`.
    public package(set) var activationID: String?
    /// The name of the limit that is reached.
    package var limit: String?
    /// The effect of the failed call; `nil` if nothing was sent.
    package var effect: CallEffect?
    /// The latest signature of the failed decision; `nil` if none was made.
    package var decision: SignedDecision?
    /// The underlying error, if any. Its message may come from outside, so ``description`` shows only its type.
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

    /// The message, with the consequence if the request's outcome is unknown.
    package var messageAndConsequence: String {
        guard let effect, self.failureKind == .unknown else { return self.message }
        return "\(self.message); \(effect.consequence)"
    }

    /// The code, the message and the type of the cause, on one line.
    ///
    /// Text from the server is escaped and truncated, so that it can neither control a terminal nor forge log lines.
    public var description: String {
        var text = "\(self.code): \(DisplayText.escaped(self.message))"
        if let httpStatus { text += " (HTTP \(httpStatus))" }
        if let serverCode { text += " [\(DisplayText.escaped(serverCode, limit: 64))]" }
        if let remainingAttempts { text += ", \(remainingAttempts) attempts left" }
        if let effect, self.failureKind == .unknown { text += "; \(effect.consequence)" }
        if let underlying { text += ", caused by \(type(of: underlying))" }
        return text
    }
}

extension Duration {
    /// The longest `Retry-After` that is honored.
    package static let longestRetryAfter = Self.seconds(15 * 60)

    /// A server's `Retry-After`, limited to the honored range.
    package var believed: Self { min(max(self, .zero), .longestRetryAfter) }
}
