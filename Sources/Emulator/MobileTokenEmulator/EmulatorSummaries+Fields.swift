package import APIDescriptions
import EmulatorBackend
import MobileTokenCloud

// The summaries as the control API shows them.

extension Emulator.ActivationSummary: Described {
    package static let fields = FieldTable("ActivationSummary", Self.init, \.registration, \.inner)
}

extension Emulator.ActivationSummary.Inner {
    static let fields = FieldTable(
        "ActivationWithin",
        Self.init,
        .required("counter", \.counter, .count, unit: .steps),
        .required("statusFlags", \.statusFlags, .list(of: .string))
    )
}

extension Emulator.OperationSummary: Described {
    package static let fields = FieldTable("OperationSummary", Self.init, \.operation, \.shown)
}

extension Emulator.OperationSummary.Shown {
    static let fields = FieldTable(
        "OperationShown",
        Self.init,
        .required("title", \.title, .string),
        .optional("formData", \.formData, .json(.open()), "The texts that the user is shown, in English."),
        .optional("rejectReason", \.rejectReason, .string)
    )
}

extension Emulator.TemplateSummary: Described {
    package static let fields = FieldTable(
        "TemplateSummary",
        Self.init,
        .required("name", \.name, .string),
        .required("title", \.title, .string),
        .required("parameters", \.parameters, .list(of: .string)),
        .required("defaults", \.defaults, .strings),
        .optional("lifetime", \.lifetime, .number, unit: .seconds),
        .required("demandsProximityCheck", \.demandsProximityCheck, .boolean)
    )
}

extension Emulator.MessageSummary: Described {
    package static let fields = FieldTable("MessageSummary", Self.init, \.message, \.owner)
}

extension Emulator.MessageSummary.Owner {
    static let fields = FieldTable(
        "MessageOwner",
        Self.init,
        .required("userId", \.userID, .string),
        .required("userID", \.replayed, .string, "The same, for the replay of recordings."),
        .required("isRead", \.isRead, .boolean, "As `read`, for the replay of recordings.")
    )
}

extension Emulator.DeliverySummary: Described {
    package static let fields = FieldTable(
        "DeliverySummary",
        Self.init,
        .required("id", \.id, .count, unit: .number),
        .optional("callbackId", \.callbackID, .string),
        .optional("callbackName", \.callbackName, .string),
        .required("url", \.url, .string),
        .required("body", \.body, .string),
        .required("state", \.state, .cases()),
        .required("attempts", \.attempts, .count),
        .optional("status", \.status, .count, "The status of the last response.", unit: .status),
        .optional("failure", \.failure, .string, "The reason it was not taken."),
        .required("created", \.created, .date),
        .optional("due", \.due, .date, "The time of the next attempt.")
    )
}

extension Emulator.PushSummary: Described {
    package static let fields = FieldTable(
        "PushSummary",
        Self.init,
        .required("id", \.id, .count, unit: .number),
        .required("type", \.type, .string(oneOf: PushMessage.Kind.allCases.map(\.rawValue))),
        .required("activationId", \.activationID, .string),
        .required("userId", \.userID, .string),
        .required("platform", \.platform, .string),
        .required("token", \.token, .string),
        .optional("environment", \.environment, .string),
        .required("payload", \.payload, .string, "The content that the device gets, as JSON."),
        .required("created", \.created, .date)
    )
}
