import Basics

extension QuestionRecord {
    init(_ terms: Terms, at now: Int64) {
        let parts = terms.approvers.people.map { Part(person: $0) }
        self.init(fixed: .drawn(for: terms), asked: now, parts: parts)
    }

    /// A person's part of a question.
    struct Part: Sendable, Equatable, Decodable {
        enum Answer: String, Sendable, Decodable {
            case pending, approved, rejected, expired, canceled, failed
            /// Approved, but found not to count.
            case discounted
            /// The server no longer knows the operation.
            case forgotten
        }

        let person: Approvers.Person
        /// The time when a creation was last sent, by the desk's clock; `nil` if none is pending.
        var sent: Int64?
        var attempts = 0
        var operationID: String?
        var operationType: String?
        var created: Int64?
        var expires: Int64?
        var answer = Answer.pending
        /// The latest server time at which it was still pending.
        var lastPending: Int64?
        var finalized: Int64?
        var signedData: String?
        var registrationID: String?
        var factors: String?
        var reason: String?
        var evidence: PersonalApproval.Evidence?
        /// The device's own signature of the data, from the server.
        var deviceSignature: String?
        /// Indicates whether the server reports the operation as over.
        var isOver = false
        /// Indicates whether it was approved after its end.
        var isSurplus = false
        /// Extra operations at the server.
        var strays: [String] = []

        init(person: Approvers.Person) { self.person = person }

        /// The maximum number of creations with unknown outcome, each of which may have asked the person.
        private static let attemptLimit = 3

        func mustBeSent(at now: Int64, patience: Int64) -> Bool {
            guard self.operationID == nil, self.attempts < Self.attemptLimit else { return false }
            guard let sent else { return true }
            // A clock that was set back does not shorten the wait.
            return now.subtractingSaturated(sent).magnitude >= patience.magnitude
        }

        /// Indicates whether a creation was lost.
        var mayHaveStrays: Bool { self.attempts > (self.operationID == nil ? 0 : 1) }

        /// Notes that any operation of a lost creation is over.
        mutating func forgetLostCreations() { self.attempts = self.operationID == nil ? 0 : 1 }

        mutating func take(_ operation: CloudClient.Operation, date: Int64?, evidence: PersonalApproval.Evidence) {
            self.operationID = operation.id
            self.operationType = operation.operationType
            self.created = operation.created.milliseconds
            self.expires = operation.expires.milliseconds
            self.lastPending = operation.status == .pending ? date ?? self.created : self.created
            self.evidence = evidence
        }

        mutating func close(_ answer: Answer, _ operation: CloudClient.Operation) {
            self.answer = answer
            self.isOver = true
            self.finalized = operation.finalized?.milliseconds
            self.signedData = operation.data ?? self.signedData
            self.registrationID = operation.registrationID
            self.factors = operation.factors
            self.reason = operation.reason
            self.deviceSignature = operation.deviceSignature
        }
    }
}
