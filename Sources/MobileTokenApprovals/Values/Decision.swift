public import Foundation

/// The end of a question, before anything is done.
///
/// Knowing it is no permission: only ``ApprovalDesk/perform(_:_:)`` acts.
public enum Decision: Sendable, Hashable {
    /// As many as had to approved.
    case approved([PersonalApproval])
    /// A person said no.
    case rejected(by: Person, reason: String?)
    /// Nobody decided in time, or the approval was not used in time.
    case expired
    /// It was withdrawn, or canceled at the server.
    case canceled(reason: String?)
    /// It cannot be approved any more.
    case failed(Failure)

    /// The reason for which a question can no longer be approved.
    public struct Failure: Sendable, Hashable, CustomStringConvertible {
        /// The reason as a code, such as ``ApprovalError/Code/cannotVerify``.
        public let code: ApprovalError.Code
        /// A sentence for a person.
        public let message: String
        /// The code and the sentence.
        public var description: String { "\(self.code): \(self.message)" }
    }
}

/// The approval of one person, as the server tells it.
public struct PersonalApproval: Sendable, Hashable {
    /// The ground on which the desk believes it.
    public enum Evidence: String, Sendable, Hashable, Codable {
        /// The server's authenticated answer shows the data that were signed.
        case answer
        /// The server's offline QR code showed the data, before the decision.
        case offlineCode
        /// A key of ``ApprovalRequest/deviceKeys`` signed the data: the device's word, which needs no server to be believed.
        case deviceSignature
        /// The server says that the operation was approved, and shows no data: accepted by the caller's word.
        case unverifiedData
    }

    /// The person who approved.
    public let person: Person
    /// The user id at the server.
    public let userID: String
    /// The operation at the server.
    public let operationID: String
    /// The data that were signed; `nil` when the server does not show them.
    public let signedData: String?
    /// The registration that decided; `nil` when the server does not say.
    public let registrationID: String?
    /// The factors, such as `possession_knowledge`; `nil` when the server does not say.
    public let factors: String?
    /// The time when the server says that it was approved; `nil` when it does not say.
    public let approvedAt: Date?
    /// The ground on which the desk believes it.
    public let evidence: Evidence
}

/// The right to act once, given to the action of ``ApprovalDesk/perform(_:_:)`` and to nobody else.
public struct Approval: Sendable {
    /// The bytes that were approved.
    public let action: [UInt8]
    /// The people who approved.
    public let approvals: [PersonalApproval]
    /// The fingerprint that the phone of the first person who was asked showed; everybody is shown one of their own.
    public let fingerprint: String
    /// A name of this one act, the same whenever the same question is asked in the same audience: 64 hexadecimal digits. The target can refuse a
    /// second time by it.
    public let idempotencyKey: String
    /// The time when the approval is too old to be used, for the target.
    public let notAfter: Date
}

/// The end of an action of which nobody knew how far it came, as somebody found it out.
public enum Settlement: String, Sendable, Hashable, Codable {
    /// It was done.
    case wasDone
    /// It was not done.
    case wasNotDone
}
