import Basics

extension UserOperation {
    /// The state of an operation.
    public enum Status: Sendable, Hashable {
        /// Waiting for a decision. Older servers send no status; their operations are pending.
        case pending
        /// Authorized.
        case approved
        /// Rejected by the user.
        case rejected
        /// Canceled by the server.
        case canceled
        /// Not decided in time.
        case expired
        /// Failed after too many attempts.
        case failed
        /// A status unknown to this version, as the server sent it. It is never pending.
        case unknown(String)
    }
}

extension UserOperation.Status: RawRepresentable, Codable {
    /// Creates the status from the server's string, compared exactly.
    public init(rawValue: String) {
        switch ExactString(rawValue) {
        case "PENDING": self = .pending
        case "APPROVED": self = .approved
        case "REJECTED": self = .rejected
        case "CANCELED": self = .canceled
        case "EXPIRED": self = .expired
        case "FAILED": self = .failed
        default: self = .unknown(rawValue)
        }
    }

    /// The server's string.
    public var rawValue: String {
        switch self {
        case .pending: "PENDING"
        case .approved: "APPROVED"
        case .rejected: "REJECTED"
        case .canceled: "CANCELED"
        case .expired: "EXPIRED"
        case .failed: "FAILED"
        case .unknown(let text): text
        }
    }
}
