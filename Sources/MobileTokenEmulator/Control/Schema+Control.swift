import EmulatorBackend
import EmulatorMessages

// What the control API takes and gives.

extension RouteDescription.Parameter {
    static let language = Self("language", .string, "The language wanted, such as cs.")
    static let text = Self("text", .word, isRequired: true, "The content of the code.")
}

// MARK: - The server

extension Schema {
    static let access = Self.object("Access", [.required("isAuthenticated", .boolean)])

    static let configuration = Self.object(
        "Configuration",
        [
            .required("baseURL", .string), .required("sdkConfiguration", .string),
            .required("applicationId", .string), .required("applicationKey", .base64),
            .required("applicationSecret", .base64), .required("masterServerPublicKey", .base64),
            .required("cloudUser", .string), .required("cloudPassword", .string),
            .optional("certificate", .string), .optional("publicKeyPin", .string),
        ]
    )

    static let exportedState = Self.named(
        "ExportedState",
        .open([.required("format", .string), .required("version", .count, unit: .version), .required("state", .open())])
    )
}

// MARK: - Operations

extension Schema {
    static let operationHistory = Self.object(
        "OperationHistory",
        [
            .required(
                "moments",
                .list(
                    of: .object([
                        .required("kind", .oneOf(OperationNote.Kind.self)), .required("time", .date),
                        .optional("requestID", .count, "The number in the journal.", unit: .number),
                        .optional("activationID", .string), .optional("factors", .string),
                        .optional("reason", .string), .required("count", .count), .required("last", .date),
                    ])
                )
            )
        ]
    )

    static let operationPreview = Self.object(
        "OperationPreview",
        [
            .required("language", .string), .required("languages", .strings),
            .required("operation", .open(), "What a device gets."),
        ]
    )
}
