import EmulatorBackend
import EmulatorMessages

// What the control API takes and gives.

extension RouteDescription.Parameter {
    static let activation = Self("activation", .string, "Lists those for this activation only.")
    static let operation = Self("operation", .string, "Lists those about this operation only.")
    static let delivery = Self("delivery", .count, "Lists the attempts of this delivery only.")
    static let language = Self("language", .string, "The language wanted, such as cs.")
    static let since = Self("since", .count, "The entries after the one of this number, oldest first.")
    static let before = Self("before", .count, "The entries before the one of this number, newest first.")
    static let journalLimit = Self("limit", .integer(1...10_000), "How many entries at most; 1000 by default.")
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
        .open([.required("format", .string), .required("version", .count), .required("state", .open())])
    )
}

// MARK: - The journal

extension Schema {
    static let journal = Self.object(
        "Journal",
        [
            .required("entries", .list(of: .journalEntry)),
            .required("last", .count, "The number of the newest entry, for the next `since`."),
            .required("run", .string, "Which run of the server has numbered them."),
        ]
    )

    static let journalEntry = Self.object(
        "JournalEntry",
        [
            .required("id", .count), .required("time", .date), .required("method", .string),
            .required("path", .string), .required("query", .string),
            .required("headers", .list(of: .object([.required("name", .string), .required("value", .string)]))),
            .required("body", .string), .optional("activationID", .string), .required("status", .count),
            .required("responseBody", .string), .required("isAccepted", .boolean), .optional("refusal", .string),
            .optional("counterBefore", .count), .optional("counterAfter", .count), .optional("fault", .string),
            .optional("deliveryID", .count, "For a callback that the server sent."),
            .optional("deviceName", .string, "For a request of a virtual device."),
            .optional("decryptedBody", .strings, "A string for each layer; secrets are masked."),
            .optional("decryptedResponseBody", .strings, "A string for each layer; secrets are masked."),
            .optional("code", .judgedCode, "The signature or the authentication code, if one was judged."),
            .optional("operationIDs", .strings, "The operations that it was about or listed."),
            .optional("warnings", .list(of: .requestWarning), "What of it was ignored."),
        ]
    )

    private static let requestWarning = Self.object(
        "RequestWarning",
        [
            .required("member", .string), .optional("suggestion", .string, "What may have been meant."),
            .required("message", .string),
        ]
    )

    private static let judgedCode = Self.object(
        "JudgedCode",
        [
            .required("version", .string), .required("factors", .string), .required("isRight", .boolean),
            .required("signedData", .string, "Method, URI identifier, nonce and body, without the secret."),
            .required("counter", .count), .optional("lookAhead", .count),
            .optional("stepsAhead", .count, "Where it was made, or where most components match."),
            .optional("stepsBehind", .count, "Where it was made, if that is behind the server's counter."),
            .optional("keyName", .string),
            .optional(
                "components",
                .list(of: .object([.required("factor", .string), .required("matches", .boolean)]))
            ),
            .optional("hint", .string, "What it would be right for."),
        ]
    )

    static let operationHistory = Self.object(
        "OperationHistory",
        [
            .required(
                "moments",
                .list(
                    of: .object([
                        .required("kind", .oneOf(OperationNote.Kind.self)), .required("time", .date),
                        .optional("requestID", .count, "The number in the journal."),
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
