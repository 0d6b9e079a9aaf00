/// The failure of asking. Nothing was done, but with ``Code/alreadyPerformed``: then it was done before, or nobody knows.
///
/// ```swift
/// do { try await desk.perform(request) { … } } catch let error as ApprovalError where error.code == .rejected { … }
/// ```
/// Its texts hold no values of parameters and no credentials.
public struct ApprovalError: Error, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The name of the code.
        public let description: String

        init(_ name: String) { self.description = name }

        /// The same identifier was used for another question.
        public static let alreadyAsked = Self("alreadyAsked")
        /// The approval was used before. ``ApprovalError/performance`` says how that went.
        public static let alreadyPerformed = Self("alreadyPerformed")
        /// The server has, or shows, something else than what was asked. Final.
        public static let bindingMismatch = Self("bindingMismatch")
        /// The server's answer lacks what the request demands to see. Nothing stays asked.
        public static let cannotVerify = Self("cannotVerify")
        /// The device that decided is none of those that may, or too new.
        public static let deviceNotAccepted = Self("deviceNotAccepted")
        /// The server knows no device of the person.
        public static let noDevice = Self("noDevice")
        /// The approval is too old to be used.
        public static let lapsed = Self("lapsed")
        /// A person said no.
        public static let rejected = Self("rejected")
        /// Nobody decided in time.
        public static let expired = Self("expired")
        /// The question was withdrawn, or canceled at the server.
        public static let canceled = Self("canceled")
        /// The server, or a person, can no longer approve.
        public static let failed = Self("failed")
        /// The person has too many open questions, or was asked a moment ago.
        public static let tooManyQuestions = Self("tooManyQuestions")
        /// The request cannot be asked as it is. Nobody was asked.
        public static let invalidRequest = Self("invalidRequest")
        /// The ledger cannot be read or written.
        public static let ledgerFailed = Self("ledgerFailed")
        /// The ledger was put back, copied, or is that of another installation.
        public static let ledgerWentBack = Self("ledgerWentBack")
    }

    /// The end of an action that was begun before.
    public enum Performance: String, Sendable, Hashable, Codable {
        /// It returned.
        case done
        /// It threw an error.
        case threw
        /// Its process is at it.
        case running
        /// Its process is gone, and nobody knows how far it came: see ``ApprovalDesk/settle(id:as:by:)``.
        case unknown
    }

    /// The kind of failure.
    public let code: Code
    /// The question that it is about; `nil` when it is about none.
    public let questionID: String?
    /// A sentence for a person.
    public let message: String
    /// The end of the earlier action, with ``Code/alreadyPerformed``.
    public let performance: Performance?
    /// The error beneath.
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

    /// The code and the sentence.
    public var description: String {
        let question = self.questionID.map { " (\($0))" } ?? ""
        return "\(self.code)\(question): \(self.message)"
    }

    /// The same, about a question.
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
