import APIDescriptions
import Basics
package import CloudCalls
public import ExactJSON
public import Foundation

extension CloudClient {
    /// The state of an operation. Unknown values of later servers are kept.
    public struct OperationStatus: RawRepresentable, Sendable, Hashable, Codable, CustomStringConvertible {
        /// The server's value.
        public let rawValue: String

        /// Creates a status from the server's value.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The operation awaits a decision.
        public static let pending = Self(rawValue: "PENDING")
        /// The user approved the operation.
        public static let approved = Self(rawValue: "APPROVED")
        /// The user rejected the operation.
        public static let rejected = Self(rawValue: "REJECTED")
        /// The server side canceled the operation.
        public static let canceled = Self(rawValue: "CANCELED")
        /// The operation was not decided in time.
        public static let expired = Self(rawValue: "EXPIRED")
        /// Too many approvals failed.
        public static let failed = Self(rawValue: "FAILED")

        /// The value, escaped and truncated.
        public var description: String { DisplayText.escaped(self.rawValue, limit: 64) }
    }

    /// An operation at the server.
    public struct Operation: Sendable, Identifiable {
        private let wire: CloudOperation

        package init(_ wire: CloudOperation) { self.wire = wire }

        /// - Throws: An objection to a response about another operation.
        init(_ wire: CloudOperation, expecting id: String) throws(Schema.Objection) {
            guard wire.id.isExactly(id) else { throw Schema.Objection(member: "operationId", hint: "is another one") }
            self.wire = wire
        }

        /// The operation's identifier.
        public var id: String { self.wire.id }
        /// The operation's user; `nil` until a user claims it.
        public var userID: String? { self.wire.userID }
        /// The state. Only ``OperationStatus/approved`` is an approval.
        public var status: OperationStatus { OperationStatus(rawValue: self.wire.status) }
        /// The name shown on the device.
        public var operationType: String { self.wire.operationType }
        /// The parameters at the server that are strings.
        public var parameters: [String: String] { self.wire.parameters.compactMapValues(\.string) }
        /// The parameters at the server, whatever their type.
        package var allParameters: [String: JSONValue] { self.wire.parameters }
        /// The number of failed approvals.
        public var failureCount: Int { self.wire.failures }
        /// The number of failed approvals that fails the operation.
        public var maximumFailureCount: Int { self.wire.maximumFailures }
        /// The server's time of creation.
        public var created: Date { Date(milliseconds: self.wire.created) }
        /// The server's deadline for the decision.
        public var expires: Date { Date(milliseconds: self.wire.expires) }
        /// The current one-time code of a pending operation with a proximity check.
        public var proximityCode: String? { self.wire.proximityCode }

        // Undocumented by PowerAuth Cloud, but present in servers and callbacks.

        /// The caller's identifier. Undocumented; `nil` if the server does not report it.
        public var externalID: String? { self.wire.externalID }
        /// The reason of the cancellation. Undocumented; `nil` if the server does not report it.
        public var statusReason: String? { self.wire.statusReason }
        /// The reason of the rejection, from the user's device. Undocumented; `nil` if the server does not report it.
        public var rejectReason: String? { self.additionalData?["rejectReason"]?.string }
        /// The data that the user signs. Undocumented; `nil` if the server does not report it.
        public var data: String? { self.wire.data }
        /// The server's time of the decision or the end. Undocumented; `nil` if the server does not report it.
        public var finalized: Date? { self.wire.finalized.map(Date.init(milliseconds:)) }
        /// The server's data about the decision, such as registration, factors and reason. Undocumented; `nil` if the server does
        /// not report it.
        public var additionalData: JSONValue? { self.wire.additionalData }
    }
}

extension CloudClient.Operation: CustomStringConvertible {
    /// Identifier and state.
    public var description: String { "Operation \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
}
