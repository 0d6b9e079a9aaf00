package import APIDescriptions
import Basics
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
    public struct Operation: Sendable, Hashable, Identifiable {
        /// The operation's identifier.
        public package(set) var id: String
        /// The operation's user; `nil` until a user claims it.
        public package(set) var userID: String?
        package var applicationID: String?
        /// The only registration that may decide.
        package var boundRegistrationID: String?
        /// The caller's identifier. Undocumented; `nil` if the server does not report it.
        public package(set) var externalID: String?
        package var callbackURL: String?
        /// The state. Only ``OperationStatus/approved`` is an approval.
        public package(set) var status: OperationStatus
        /// The reason of the cancellation. Undocumented; `nil` if the server does not report it.
        public package(set) var statusReason: String?
        /// The name shown on the device.
        public package(set) var operationType: String
        package var template: String?
        /// The data that the user signs. Undocumented; `nil` if the server does not report it.
        public package(set) var data: String?
        package var language: String?
        package var flag: String?
        package var isSilent: Bool?
        /// The parameters at the server, whatever their type.
        package var allParameters: [String: JSONValue]
        /// The number of failed approvals.
        public package(set) var failureCount: Int
        /// The number of failed approvals that fails the operation.
        public package(set) var maximumFailureCount: Int
        /// Since 1970, like the next two.
        package var createdMilliseconds: Int64
        package var expiresMilliseconds: Int64
        package var finalizedMilliseconds: Int64?
        /// The current one-time code of a pending operation with a proximity check.
        public package(set) var proximityCode: String?
        /// The server's data about the decision, such as registration, factors and reason. Undocumented; `nil` if the server does
        /// not report it.
        public package(set) var additionalData: JSONValue?

        /// The parameters at the server that are strings.
        public var parameters: [String: String] { self.allParameters.compactMapValues(\.string) }
        /// The server's time of creation.
        public var created: Date { Date(milliseconds: self.createdMilliseconds) }
        /// The server's deadline for the decision.
        public var expires: Date { Date(milliseconds: self.expiresMilliseconds) }
        /// The server's time of the decision or the end. Undocumented; `nil` if the server does not report it.
        public var finalized: Date? { self.finalizedMilliseconds.map(Date.init(milliseconds:)) }
        /// The reason of the rejection, from the user's device. Undocumented; `nil` if the server does not report it.
        public var rejectReason: String? { self.additionalData?["rejectReason"]?.string }
    }
}

extension CloudClient.Operation: Described {
    package static let fields = FieldTable(
        "Operation",
        Self.init,
        .required("operationId", \.id, .string),
        .optional("userId", \.userID, .string),
        .promised("appId", \.applicationID, .string).ours,
        .optional("registrationId", \.boundRegistrationID, .string).ours,
        .optional("externalId", \.externalID, .string).ours,
        .optional("callbackUrl", \.callbackURL, .string).ours,
        .required("status", \.status, .operationStatus),
        .optional("statusReason", \.statusReason, .string).ours,
        .required("operationType", \.operationType, .string),
        .optional("template", \.template, .string).ours,
        .promised("data", \.data, .string).ours,
        .optional("language", \.language, .string).ours,
        .optional("flag", \.flag, .string).ours,
        .optional("silent", \.isSilent, .boolean).ours,
        .promised("parameters", \.allParameters, .values, or: [:]),
        .required("failureCount", \.failureCount, .count),
        .required("maxFailureCount", \.maximumFailureCount, .count),
        .required("timestampCreated", \.createdMilliseconds, .timestamp),
        .required("timestampExpires", \.expiresMilliseconds, .timestamp),
        .optional("timestampFinalized", \.finalizedMilliseconds, .timestamp).ours,
        .optional("proximityOtp", \.proximityCode, .string, "The one-time code of this moment."),
        .optional(
            "additionalData",
            \.additionalData,
            .json(.open()),
            "The data that the device sent with its decision."
        )
        .ours
    )

    /// Creates an operation with only the members that every server sends.
    package init(
        id: String,
        status: CloudClient.OperationStatus,
        operationType: String,
        failures: (count: Int, maximum: Int),
        created: Int64,
        expires: Int64
    ) {
        (self.id, self.status, self.operationType, self.allParameters) = (id, status, operationType, [:])
        (self.failureCount, self.maximumFailureCount) = failures
        (self.createdMilliseconds, self.expiresMilliseconds) = (created, expires)
    }

    /// - Throws: An objection to a response about another operation.
    func of(_ id: String) throws(Schema.Objection) -> Self {
        try self.id.mustBe(id, "operationId")
        return self
    }
}

extension Form<CloudClient.OperationStatus> {
    static var operationStatus: Self {
        Form<String>.string(oneOf: CloudOperationStatus.allCases.map(\.rawValue))
            .map(Value.init(rawValue:), from: \.rawValue)
    }
}

extension String {
    /// - Throws: An objection to a response about another object.
    func mustBe(_ id: String, _ member: String) throws(Schema.Objection) {
        guard self.isExactly(id) else { throw Schema.Objection(member: member, hint: "is another one") }
    }
}

extension CloudClient.Operation: CustomStringConvertible {
    /// Identifier and state.
    public var description: String { "Operation \(DisplayText.escaped(self.id, limit: 64)) \(self.status)" }
}
