package import APIDescriptions
package import ExactJSON

extension CloudAPI {
    package static let listOperations = Self.endpoint(
        "GET /v2/operations",
        isOurs: true,
        "Lists operations.",
        takes: Call.query(
            FieldTable<String?>("UserFilter", .optional("userId", \.self, .word, "Lists those of this user only."))
        ),
        gives: FieldTable<[CloudOperation]>("Operations", .required("operations", \.self, .list(of: .described))).form
    )

    package static let createOperation = Self.endpoint(
        "POST /v2/operations",
        fills: true,
        "Creates an operation.",
        takes: Call.body(NewCloudOperation.form),
        gives: CloudOperation.form
    )

    package static let cancelOperation = Self.endpoint(
        "DELETE /v2/operations/{id}",
        fills: true,
        "Cancels an operation.",
        takes: Call.segment("id"),
        Call.query(
            FieldTable<String?>(
                "Cancellation",
                .optional("statusReason", \.self, .string(upTo: 32), "The reason it is canceled.")
            )
        ),
        gives: CloudOperation.form
    )

    package static let showOperation = Self.endpoint(
        "GET /v2/operations/{id}",
        "Shows an operation.",
        takes: Call.segment("id"),
        gives: CloudOperation.form
    )
}

package enum CloudOperationStatus: String, Sendable, Codable, CaseIterable {
    case pending = "PENDING"
    case approved = "APPROVED"
    case rejected = "REJECTED"
    case canceled = "CANCELED"
    case expired = "EXPIRED"
    case failed = "FAILED"
}

/// A bank's request for an operation.
package struct NewCloudOperation: Described {
    package var userID: String?
    package var applicationID: String?
    package var registrationID: String?
    package var template: String?
    package var parameters: [String: JSONValue]?
    package var language: String?
    package var operationType: String?
    package var name: String?
    package var data: String?
    package var formData: JSONValue?
    package var ui: JSONValue?
    package var allowedSignatureType: JSONValue?
    /// The deadline in milliseconds since 1970.
    package var expires: Int64?
    /// The time to decide, in seconds.
    package var lifetime: Int64?
    package var maximumFailures: Int?
    package var demandsProximityCheck: Bool?
    package var flag: String?
    package var activationFlag: String?
    package var isSilent: Bool?
    package var externalID: String?
    package var callbackURL: String?

    private static let lifetimes: ClosedRange<Int64> = 1...31_536_000
    private static let failureLimits: ClosedRange<Int> = 1...255

    package static let fields = FieldTable(
        "NewOperation",
        Self.init,
        .optional(
            "userId",
            \.userID,
            .word(upTo: 255),
            "The user who is to decide; without one, the first who claims the operation.",
            example: "alice"
        ),
        .optional("appId", \.applicationID, .string, "The application; the server's own if left out."),
        .optional("registrationId", \.registrationID, .string, "The only registration of the user that may decide."),
        .optional(
            "template",
            \.template,
            .string,
            "The template that the operation is made from; see /_emulator/templates.",
            example: "payment"
        ),
        .optional(
            "parameters",
            \.parameters,
            .values,
            "Values for the placeholders; those left out have examples, and unknown ones are ignored, with a warning in the journal."
        ),
        .optional("language", \.language, .string, "The language of what is pushed, such as cs."),
        .optional("operationType", \.operationType, .string, "Without a template: the name that the device sees."),
        .optional("name", \.name, .string, "Another name of operationType.").ours,
        .optional("data", \.data, .string, "Without a template: what is signed.").ours,
        .optional(
            "formData",
            \.formData,
            .json(.open([.required("title", .word), .required("message", .word)])),
            "Without a template: what the user is shown."
        ).ours,
        .optional("ui", \.ui, .json(.open()), "Without a template: how it is shown.").ours,
        .optional("allowedSignatureType", \.allowedSignatureType, .json(.allowedSignature)).ours,
        .optional("timestampExpires", \.expires, .timestamp, "The time until which it can be decided."),
        .optional(
            "expiresIn",
            \.lifetime,
            .integer(Self.lifetimes),
            "The time in which it can be decided.",
            unit: .seconds
        )
        .ours,
        .optional("maxFailureCount", \.maximumFailures, .integer(Self.failureLimits)).ours,
        .optional("proximityCheckEnabled", \.demandsProximityCheck, .boolean),
        .optional("flag", \.flag, .string, "Only activations with this flag see and decide it."),
        .optional("activationFlag", \.activationFlag, .string, "Another name of flag.").ours,
        .optional("silent", \.isSilent, .boolean, "Sends no push message about it; `false` by default."),
        .optional("externalId", \.externalID, .string),
        .optional(
            "callbackUrl",
            \.callbackURL,
            .string,
            "The address that is told of this operation, beside the callbacks that there are."
        ).ours
    ).stating(
        .excludes(["name", "data", "formData", "ui", "allowedSignatureType"], beside: "template"),
        .excludes(["timestampExpires"], beside: "expiresIn")
    ).tolerant
}

extension NewCloudOperation {
    package init(userID: String?) { self.userID = userID }
}

extension Schema {
    package static let allowedSignature = Self.object(
        "AllowedSignatureType",
        [
            .required("type", .oneOf(["1FA", "2FA", "ECDSA"])),
            .required("variants", .strings, "Sets of factors, such as possession_knowledge."),
        ]
    )
}

/// An operation in the API's form.
package struct CloudOperation: Described, Hashable {
    package var id: String
    package var userID: String?
    package var applicationID: String?
    package var registrationID: String?
    package var externalID: String?
    package var callbackURL: String?
    package var status: String
    package var statusReason: String?
    package var operationType: String
    package var template: String?
    package var data: String?
    package var language: String?
    package var flag: String?
    package var isSilent: Bool?
    package var parameters: [String: JSONValue]
    package var failures: Int
    package var maximumFailures: Int
    /// The creation time in milliseconds since 1970, like the next two.
    package var created: Int64
    package var expires: Int64
    package var finalized: Int64?
    package var proximityCode: String?
    package var additionalData: JSONValue?

    package static let fields = FieldTable(
        "Operation",
        Self.init,
        .required("operationId", \.id, .string),
        .optional("userId", \.userID, .string),
        .promised("appId", \.applicationID, .string).ours,
        .optional("registrationId", \.registrationID, .string).ours,
        .optional("externalId", \.externalID, .string).ours,
        .optional("callbackUrl", \.callbackURL, .string).ours,
        .required("status", \.status, .string(oneOf: CloudOperationStatus.allCases.map(\.rawValue))),
        .optional("statusReason", \.statusReason, .string).ours,
        .required("operationType", \.operationType, .string),
        .optional("template", \.template, .string).ours,
        .promised("data", \.data, .string).ours,
        .optional("language", \.language, .string).ours,
        .optional("flag", \.flag, .string).ours,
        .optional("silent", \.isSilent, .boolean).ours,
        .promised("parameters", \.parameters, .values, or: [:]),
        .required("failureCount", \.failures, .count),
        .required("maxFailureCount", \.maximumFailures, .count),
        .required("timestampCreated", \.created, .timestamp),
        .required("timestampExpires", \.expires, .timestamp),
        .optional("timestampFinalized", \.finalized, .timestamp).ours,
        .optional("proximityOtp", \.proximityCode, .string, "The one-time code of this moment."),
        .optional(
            "additionalData",
            \.additionalData,
            .json(.open()),
            "The data that the device sent with its decision."
        )
        .ours
    )
}

extension CloudOperation {
    /// Creates an operation with only the members that every server sends.
    package init(
        id: String,
        status: String,
        operationType: String,
        failures: (count: Int, maximum: Int),
        created: Int64,
        expires: Int64
    ) {
        (self.id, self.status, self.operationType, self.parameters) = (id, status, operationType, [:])
        (self.failures, self.maximumFailures) = failures
        (self.created, self.expires) = (created, expires)
    }
}
