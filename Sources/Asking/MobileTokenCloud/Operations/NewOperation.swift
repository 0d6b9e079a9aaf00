package import APIDescriptions
package import ExactJSON
public import Foundation

extension CloudClient {
    /// An operation to create: the user's decision that is requested.
    public struct NewOperation: Sendable, Hashable {
        /// The deciding user; `nil` for the first user who claims the operation.
        public var userID: String?
        /// The application, if the credentials do not determine it.
        public var applicationID: String?
        package var registrationID: String?
        package var templateName: String?
        package var allParameters: [String: JSONValue]?
        /// The language of the push message, such as `cs`. Default: the server's.
        public var language: String?
        package var operationType: String?
        package var name: String?
        package var data: String?
        package var formData: JSONValue?
        package var ui: JSONValue?
        package var allowedSignatureType: JSONValue?
        /// Since 1970.
        package var expiresMilliseconds: Int64?
        /// The time to decide, in seconds.
        package var lifetime: Int64?
        package var maximumFailures: Int?
        /// Requires a one-time code, displayed elsewhere, in the approval. Default: the template's.
        public var demandsProximityCheck: Bool?
        /// The activation flag required for seeing and deciding the operation. Default: none.
        public var flag: String?
        package var activationFlag: String?
        /// Suppresses the push message. Default: `false`.
        public var isSilent: Bool?
        /// The caller's identifier. It need not be unique, and the server cannot search for it.
        public var externalID: String?
        package var callbackURL: String?

        /// The operation's template at the server.
        public var template: String {
            get { self.templateName ?? "" }
            set { self.templateName = newValue }
        }
        /// The values of the template's placeholders. Real servers accept only strings, and silently drop values without a
        /// placeholder.
        public var parameters: [String: String] {
            get { (self.allParameters ?? [:]).compactMapValues(\.string) }
            set { self.allParameters = newValue.mapValues { .string($0) } }
        }
        /// The deadline for the decision, in milliseconds. Default: the template's.
        public var expires: Date? {
            get { self.expiresMilliseconds.map(Date.init(milliseconds:)) }
            set { self.expiresMilliseconds = newValue?.milliseconds }
        }
    }
}

extension CloudClient.NewOperation: Described {
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
            \.templateName,
            .string,
            "The template that the operation is made from; see /_emulator/templates.",
            example: "payment"
        ),
        .optional(
            "parameters",
            \.allParameters,
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
        .optional("timestampExpires", \.expiresMilliseconds, .timestamp, "The time until which it can be decided."),
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

    /// Creates an operation without a template.
    package init(userID: String?) { self.userID = userID }
}

extension CloudClient.NewOperation: CustomStringConvertible {
    /// Creates an operation from a template.
    public init(template: String, userID: String?, parameters: [String: String] = [:]) {
        self.init(userID: userID)
        self.template = template
        self.parameters = parameters
    }

    /// The template only.
    public var description: String { "NewOperation of \(self.template)" }
}
