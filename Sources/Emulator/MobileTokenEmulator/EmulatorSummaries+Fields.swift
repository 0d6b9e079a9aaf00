package import APIDescriptions
import CloudCalls
import EmulatorBackend
import MobileTokenCloud

// The summaries as the control API shows them.

extension Form<CloudClient.OperationStatus> {
    static var operationStatus: Self {
        Form<String>.string(oneOf: ServerOperation.Status.allCases.map(\.rawValue)).map {
            CloudClient.OperationStatus(rawValue: $0)
        } from: {
            $0.rawValue
        }
    }
}

extension Form<CloudClient.RegistrationStatus> {
    static var activationStatus: Self {
        Form<String>.string(oneOf: ServerActivation.Status.allCases.map(\.rawValue)).map {
            CloudClient.RegistrationStatus(rawValue: $0)
        } from: {
            $0.rawValue
        }
    }
}

extension Emulator.ActivationSummary: Described {
    package static let fields = FieldTable(
        "ActivationSummary",
        Self.init,
        .required("id", \.id, .string),
        .required("userId", \.userID, .string),
        .required("applicationId", \.applicationID, .string),
        .optional("name", \.name, .string),
        .required("status", \.status, .activationStatus),
        .optional("version", \.version, .string),
        .optional("suite", \.suite, .cases()),
        .required("flags", \.flags, .list(of: .string)),
        .optional("blockExpires", \.blockExpires, .date),
        .optional("fingerprint", \.fingerprint, .string, "Eight digits that the device shows too."),
        .required("counter", \.counter, .count, unit: .steps),
        .required("failedAttempts", \.failedAttempts, .count),
        .required("maxFailedAttempts", \.maximumFailedAttempts, .count),
        .optional("activationQrCodeData", \.activationQRCode, .string),
        .required("created", \.created, .date),
        .optional("pushPlatform", \.pushPlatform, .string),
        .optional("pushToken", \.pushToken, .string)
    )
}

extension Emulator.OperationSummary: Described {
    package static let fields = FieldTable(
        "OperationSummary",
        Self.init,
        .required("id", \.id, .string),
        .optional("userId", \.userID, .string),
        .required("name", \.name, .string),
        .required("title", \.title, .string),
        .optional("formData", \.formData, .json(.open()), "The texts that the user is shown, in English."),
        .required("data", \.data, .string),
        .required("status", \.status, .operationStatus),
        .optional("statusReason", \.statusReason, .string),
        .optional("rejectReason", \.rejectReason, .string),
        .required("failureCount", \.failureCount, .count),
        .required("maxFailureCount", \.maximumFailureCount, .count),
        .required("created", \.created, .date),
        .required("expires", \.expires, .date),
        .optional("proximityCode", \.proximityCode, .string)
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
    package static let fields = FieldTable(
        "MessageSummary",
        Self.init,
        .required("id", \.id, .string),
        .required("userId", \.userID, .string),
        .required("type", \.type, .string),
        .required("subject", \.subject, .string),
        .required("summary", \.summary, .string),
        .required("body", \.body, .string),
        .required("isRead", \.isRead, .boolean),
        .required("created", \.created, .date)
    )
}

extension Emulator.DeliverySummary: Described {
    package static let fields = FieldTable(
        "DeliverySummary",
        Self.init,
        .required("id", \.id, .count, unit: .number),
        .optional("callbackId", \.callbackID, .string),
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
