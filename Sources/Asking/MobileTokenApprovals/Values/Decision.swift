public import Foundation

extension ApprovalTicket {
    /// The end of a question, before anything is done.
    ///
    /// It is no permission: only ``ApprovalDesk/perform(_:_:)`` acts.
    public enum Decision: Sendable, Hashable {
        /// The required number of people approved.
        case approved([PersonalApproval])
        /// A person rejected the question.
        case rejected(by: Approvers.Person, reason: String?)
        /// The deadline passed without a decision, or the approval was not used in time.
        case expired
        /// It was withdrawn, or canceled at the server.
        case canceled(reason: String?)
        /// It can no longer be approved.
        case failed(Failure)

        /// The reason a question can no longer be approved.
        public struct Failure: Sendable, Hashable, CustomStringConvertible {
            /// The reason as a code, such as ``ApprovalError/Code/cannotVerify``.
            public let code: ApprovalError.Code
            /// A message for a person.
            public let message: String
            /// The code and the message.
            public var description: String { "\(self.code): \(self.message)" }
        }
    }

    /// The outcome of an action with unknown progress, as reported by a person.
    public enum Settlement: String, Sendable, Hashable, Codable {
        /// It was done.
        case wasDone
        /// It was not done.
        case wasNotDone
    }
}

/// One person's approval, as reported by the server.
public struct PersonalApproval: Sendable, Hashable {
    /// The evidence for the approval.
    public enum Evidence: String, Sendable, Hashable, Codable {
        /// The server's authenticated response shows the signed data.
        case answer
        /// The server's offline QR code showed the data, before the decision.
        case offlineCode
        /// A key of ``ApprovalRequest/deviceKeys`` signed the data: independent of the server.
        case deviceSignature
        /// The server reports the approval but shows no data, which the caller accepts.
        case unverifiedData
    }

    /// The person who approved.
    public let person: Approvers.Person
    /// The user id at the server.
    public let userID: String
    /// The operation at the server.
    public let operationID: String
    /// The signed data; `nil` if the server does not show them.
    public let signedData: String?
    /// The deciding registration; `nil` if the server does not report it.
    public let registrationID: String?
    /// The factors, such as `possession_knowledge`; `nil` if the server does not report them.
    public let factors: String?
    /// The server's time of the approval; `nil` if the server does not report it.
    public let approvedAt: Date?
    /// The evidence for the approval.
    public let evidence: Evidence
}

extension ApprovalDesk {
    /// The right to act once, given only to the action of ``perform(_:_:)``.
    public struct Approval: Sendable {
        /// The approved bytes.
        public let action: [UInt8]
        /// The people who approved.
        public let approvals: [PersonalApproval]
        /// The fingerprint on the phone of the first person asked; each person has their own.
        public let fingerprint: String
        /// A name of this act, the same whenever the same question is asked in the same audience: 64 hexadecimal digits. The target
        /// can reject a repetition by it.
        public let idempotencyKey: String
        /// The end of the approval's validity, for the target.
        public let notAfter: Date
    }
}
