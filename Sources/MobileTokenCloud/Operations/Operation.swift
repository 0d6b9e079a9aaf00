import APIDescriptions
import Basics
package import CloudCalls
public import ExactJSON
public import Foundation

extension CloudClient {
    /// The state of an operation. Words of later servers survive.
    public struct OperationStatus: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The server's word.
        public let rawValue: String

        /// Creates a status from the server's word.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It waits for a decision.
        public static let pending = Self(rawValue: "PENDING")
        /// The user approved it.
        public static let approved = Self(rawValue: "APPROVED")
        /// The user rejected it.
        public static let rejected = Self(rawValue: "REJECTED")
        /// The server side canceled it.
        public static let canceled = Self(rawValue: "CANCELED")
        /// Nobody decided it in time.
        public static let expired = Self(rawValue: "EXPIRED")
        /// There were too many failed approvals.
        public static let failed = Self(rawValue: "FAILED")

        /// The word, escaped and cut.
        public var description: String { DisplayText.escaped(self.rawValue, limit: 64) }
    }

    /// An operation as the server shows it.
    public struct Operation: Sendable, Identifiable {
        private let wire: CloudOperation

        package init(_ wire: CloudOperation) { self.wire = wire }

        /// - Throws: An objection to an answer about another operation.
        init(_ wire: CloudOperation, expecting id: String) throws(Schema.Objection) {
            guard wire.id.isExactly(id) else { throw Schema.Objection(member: "operationId", hint: "is another one") }
            self.wire = wire
        }

        /// The operation's identifier.
        public var id: String { self.wire.id }
        /// The user it belongs to; `nil` until a user claims it.
        public var userID: String? { self.wire.userID }
        /// The state. Nothing but ``OperationStatus/approved`` is an approval.
        public var status: OperationStatus { OperationStatus(rawValue: self.wire.status) }
        /// The name that the device sees.
        public var operationType: String { self.wire.operationType }
        /// The parameters as the server has them: those that are strings.
        public var parameters: [String: String] { self.wire.parameters.compactMapValues(\.string) }
        /// The number of failed approvals.
        public var failureCount: Int { self.wire.failures }
        /// The number of failed approvals at which the operation has failed.
        public var maximumFailureCount: Int { self.wire.maximumFailures }
        /// The server's time at which it was created.
        public var created: Date { Date(milliseconds: self.wire.created) }
        /// The server's time from which on it cannot be decided.
        public var expires: Date { Date(milliseconds: self.wire.expires) }
        /// The one-time code of this moment, of a pending operation with a proximity check.
        public var proximityCode: String? { self.wire.proximityCode }

        // The documentation of PowerAuth Cloud does not show these; servers and callbacks have them.

        /// The identifier that the caller gave. Not documented: `nil` where the server does not tell.
        public var externalID: String? { self.wire.externalID }
        /// The reason that was given for its cancellation. Not documented: `nil` where the server does not tell.
        public var statusReason: String? { self.wire.statusReason }
        /// The reason that the user's device gave for its rejection. Not documented: `nil` where the server does not tell.
        public var rejectReason: String? { self.additionalData?["rejectReason"]?.string }
        /// The data that the user signs. Not documented: `nil` where the server does not tell.
        public var data: String? { self.wire.data }
        /// The server's time at which it was decided or ended. Not documented: `nil` where the server does not tell.
        public var finalized: Date? { self.wire.finalized.map(Date.init(milliseconds:)) }
        /// The server's notes on the decision, such as registration, factors and reason. Not documented: `nil` where the server does
        /// not tell.
        public var additionalData: JSONValue? { self.wire.additionalData }
    }
}

extension CloudClient.Operation: CustomStringConvertible, CustomReflectable {
    /// Identifier and state.
    public var description: String { "Operation \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
    /// Empty, so that `dump` reveals no parameters.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
