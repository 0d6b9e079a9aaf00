import Basics
import PowerAuthProtocol

extension UserOperation {
    /// The state of an operation in its life.
    public enum Status: Sendable, Hashable {
        /// Waits for a decision. Older servers send no status; their operations are pending.
        case pending
        /// Was authorized.
        case approved
        /// Was rejected by the user.
        case rejected
        /// Was canceled by the server side.
        case canceled
        /// Was not decided in time.
        case expired
        /// Had too many failed attempts.
        case failed
        /// A status that this version does not know, as it was sent. It is never pending.
        case unknown(String)
    }
}

extension UserOperation.Status: RawRepresentable, Codable {
    /// Creates the status from the server's string, which is compared exactly.
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
