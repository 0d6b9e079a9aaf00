package import APIDescriptions

// The journal as the control API shows it.

extension Emulator.JournalEntry: Described {
    package static let fields = FieldTable(
        "JournalEntry",
        Self.init,
        .required("id", \.id, .count, unit: .number),
        .required("time", \.time, .date),
        .required("method", \.method, .string),
        .required("path", \.path, .string),
        .required("query", \.query, .string),
        .required("headers", \.headers, .list(of: .described)),
        .required("body", \.body, .string),
        .optional("activationId", \.activationID, .string),
        .optional("userId", \.userID, .string, "Of that activation, or else the one whose operations it was about."),
        .required("status", \.status, .count, unit: .status),
        .required("responseBody", \.responseBody, .string),
        .required("isAccepted", \.isAccepted, .boolean),
        .optional("refusal", \.refusal, .string),
        .optional("finding", \.finding, .string, "The same in a few words, such as: The password is wrong."),
        .optional("counterBefore", \.counterBefore, .count, unit: .steps),
        .optional("counterAfter", \.counterAfter, .count, unit: .steps),
        .optional("fault", \.fault, .string),
        .optional("faultEffect", \.faultEffect, .string, "An account of what the fault made of the request."),
        .optional(
            "deliveryId",
            \.deliveryID,
            .count,
            "The delivery, of a callback that the server sent.",
            unit: .number
        ),
        .optional("callbackName", \.callbackName, .string, "The name of that callback."),
        .optional("deviceName", \.deviceName, .string, "The virtual device that made the request."),
        .optional("decryptedBody", \.decryptedBody, .list(of: .string), "A string for each layer; secrets are masked."),
        .optional(
            "decryptedResponseBody",
            \.decryptedResponseBody,
            .list(of: .string),
            "A string for each layer; secrets are masked."
        ),
        .optional("code", \.code, .described, "The signature or the authentication code, if one was judged."),
        .optional("operationIds", \.operationIDs, .list(of: .string), "The operations that it was about or listed."),
        .optional("warnings", \.warnings, .list(of: .described), "The parts of it that were ignored.")
    )
}

extension Emulator.JournalEntry.Header: Described {
    package static let fields = FieldTable(
        "JournalHeader",
        Self.init,
        .required("name", \.name, .string),
        .required("value", \.value, .string)
    )
}

extension Emulator.JournalEntry.Warning: Described {
    package static let fields = FieldTable(
        "RequestWarning",
        Self.init,
        .required("member", \.member, .string),
        .optional("suggestion", \.suggestion, .string, "A name that may have been meant."),
        .required("message", \.message, .string)
    )
}

extension Emulator.JournalEntry.Code: Described {
    package static let fields = FieldTable(
        "JudgedCode",
        Self.init,
        .required("version", \.version, .string),
        .required("factors", \.factors, .string),
        .required("isRight", \.isRight, .boolean),
        .required("signedData", \.signedData, .string, "Method, URI identifier, nonce and body, without the secret."),
        .required("counter", \.counter, .count, unit: .steps),
        .optional("lookAhead", \.lookAhead, .count, unit: .steps),
        .optional(
            "stepsAhead",
            \.stepsAhead,
            .count,
            "The counter for which it was made, or for which most components match.",
            unit: .steps
        ),
        .optional(
            "stepsBehind",
            \.stepsBehind,
            .count,
            "The counter for which it was made, if that is behind the server's.",
            unit: .steps
        ),
        .optional("keyName", \.keyName, .string),
        .optional("components", \.components, .list(of: .described)),
        .optional("hint", \.hint, .string, "The use that it would be right for.")
    )
}

extension Emulator.JournalEntry.Code.Component: Described {
    package static let fields = FieldTable(
        "CodeComponent",
        Self.init,
        .required("factor", \.factor, .string),
        .required("matches", \.matches, .boolean)
    )
}
