/// A failure to get an approval. Nothing was done, except with ``Code/alreadyPerformed``: then it was done before, or the outcome
/// is unknown.
///
/// ```swift
/// do { try await desk.perform(request) { … } } catch let error as ApprovalError where error.code == .rejected { … }
/// ```
/// Messages contain no parameter values and no credentials.
public struct ApprovalError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        init(_ name: String) { self.description = name }

        /// The identifier was used for another question.
        public static let alreadyAsked = Self("alreadyAsked")
        /// The approval was already used. ``ApprovalError/performance`` has the result.
        public static let alreadyPerformed = Self("alreadyPerformed")
        /// The server has, or shows, something other than the question. Final.
        public static let bindingMismatch = Self("bindingMismatch")
        /// The server's response lacks data that the request requires. No question stays open.
        public static let cannotVerify = Self("cannotVerify")
        /// The deciding device is not allowed, or is too new.
        public static let deviceNotAccepted = Self("deviceNotAccepted")
        /// The server knows no device of the person.
        public static let noDevice = Self("noDevice")
        /// The approval is too old to be used.
        public static let lapsed = Self("lapsed")
        /// A person rejected the question.
        public static let rejected = Self("rejected")
        /// The deadline passed without a decision.
        public static let expired = Self("expired")
        /// The question was withdrawn, or canceled at the server.
        public static let canceled = Self("canceled")
        /// The server, or a person, can no longer approve.
        public static let failed = Self("failed")
        /// The person has too many open questions, or was asked too recently.
        public static let tooManyQuestions = Self("tooManyQuestions")
        /// The request is invalid. No question was asked.
        public static let invalidRequest = Self("invalidRequest")
        /// The ledger cannot be read or written.
        public static let ledgerFailed = Self("ledgerFailed")
        /// The ledger was restored, copied, or belongs to another installation.
        public static let ledgerWentBack = Self("ledgerWentBack")
    }

    /// The end of an action that has already begun.
    public enum Performance: String, Sendable, Hashable, Codable {
        /// It returned.
        case done
        /// It threw an error.
        case threw
        /// Its process is running it.
        case running
        /// Its process is gone, and its progress is unknown: see ``ApprovalDesk/settle(id:as:by:)``.
        case unknown
    }

    /// The kind of failure.
    public let code: Code
    /// The question concerned, if any.
    public let questionID: String?
    /// A message for a person.
    public let message: String
    /// The end of the earlier action, with ``Code/alreadyPerformed``.
    public let performance: Performance?
    /// The underlying error.
    public let underlying: (any Error)?

    package init(
        _ code: Code,
        _ message: String,
        questionID: String? = nil,
        performance: Performance? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.questionID = questionID
        self.performance = performance
        self.underlying = underlying
    }

    /// The code and the message.
    public var description: String {
        let question = self.questionID.map { " (\($0))" } ?? ""
        return "\(self.code)\(question): \(self.message)"
    }

    /// Returns the error for a question.
    func about(_ id: String) -> Self {
        Self(
            self.code,
            self.message,
            questionID: self.questionID ?? id,
            performance: self.performance,
            underlying: self.underlying
        )
    }
}
