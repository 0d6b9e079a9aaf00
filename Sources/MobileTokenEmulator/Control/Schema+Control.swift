import EmulatorBackend
import EmulatorMessages
import PowerAuthProtocol

// What the control API takes and gives.

extension RouteDescription.Parameter {
    static let activationStatus = Self(
        "status",
        .oneOf(ServerActivation.Status.allCases.map(\.rawValue)),
        "Lists those of this status only."
    )
    static let operationStatus = Self(
        "status",
        .oneOf(ServerOperation.Status.allCases.map(\.rawValue)),
        "Lists those of this status only."
    )
    static let activation = Self("activation", .string, "Lists those for this activation only.")
    static let operation = Self("operation", .string, "Lists those about this operation only.")
    static let delivery = Self("delivery", .count, "Lists the attempts of this delivery only.")
    static let language = Self("language", .string, "The language wanted, such as cs.")
    static let since = Self("since", .count, "The entries after the one of this number, oldest first.")
    static let before = Self("before", .count, "The entries before the one of this number, newest first.")
    static let journalLimit = Self("limit", .integer(1...10_000), "How many entries at most; 1000 by default.")
    static let text = Self("text", .word, isRequired: true, "The content of the code.")
}

extension [RouteDescription.Parameter] {
    /// Which part of a list.
    static let page = [
        RouteDescription.Parameter("offset", .count, "How many to leave out at the beginning."),
        RouteDescription.Parameter("limit", .integer(1...1000), "How many at most; 100 by default."),
    ]
}

// MARK: - The server

extension Schema {
    static let clock = Self.object(
        "Clock",
        [.required("now", .date), .required("mode", .oneOf(VirtualTime.Mode.self))]
    )

    static let clockChange = Self.object(
        "ClockChange",
        [
            .optional("now", .date, "The time to show."),
            .optional("mode", .oneOf(VirtualTime.Mode.self), "manual stands still until it is moved."),
            .optional("advance", .number, "Seconds, negative ones too."),
        ]
    )

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

    static let protocolRules = Self.object(
        "ProtocolRules",
        [
            .required("minimumVersion", .count), .required("allowedSuites", .strings),
            .required("offeredSuites", .strings), .required("upgradeOffers", .strings),
            .required("allowsRemovalByPossession", .boolean),
            .required(
                "server",
                .oneOf(EmulatorServerProfile.Release.self),
                "The release of real servers that it behaves as."
            ),
            .required("isStrict", .boolean, "Whether it does so where another way would help more."),
        ]
    )

    static let protocolChange = Self.object(
        "ProtocolChange",
        [
            .optional("minimumVersion", .integer(3...4)),
            .optional("allowedSuites", .list(of: .oneOf(AlgorithmSuite.self)), "None allows all."),
            .optional("upgradeOffers", .strings, "The applications whose activations are offered version 4."),
            .optional("allowsRemovalByPossession", .boolean, "Whether a device goes with one factor."),
        ]
    )

    static let exportedState = Self.named(
        "ExportedState",
        .open([.required("format", .string), .required("version", .count), .required("state", .open())])
    )
}

// MARK: - Faults

extension Schema {
    static let faultRules = Self.object("FaultRules", [.required("rules", .list(of: .faultRule))])

    static let faultRule = Self.object(
        "FaultRule",
        [
            .optional("name", .string, "What the journal calls it."),
            .optional("match", .faultMatch, "Which requests are struck; all by default."),
            .required("effect", .faultEffect),
        ]
    )

    private static let faultMatch = Self.object(
        "FaultMatch",
        [
            .optional("method", .string), .optional("path", .string, "* is anything but a slash, ** anything."),
            .optional("activation", .string), .optional("nth", .integer(1...Int64.max)),
            .optional("first", .integer(1...Int64.max)), .optional("probability", .number(0...1)),
        ]
    )

    private static let faultEffect = Self.object(
        "FaultEffect",
        [
            .optional("delay", .number(0...3600), "Seconds."), .optional("status", .integer(200...599)),
            .optional("code", .string, "Of the error, with a status; ERROR_GENERIC if left out."),
            .optional("retryAfter", .count), .optional("reset", .oneOf(FaultRule.Effect.Reset.self)),
            .optional("body", .oneOf(FaultRule.Effect.Body.self)), .optional("contentType", .string),
            .optional("drip", .integer(1...Int64.max), "Bytes a second."),
            .optional("clockSkew", .number(-1e9...1e9), "Seconds."),
        ]
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

// MARK: - The state

extension Schema {
    static let temporaryBlock = Self.object(
        "TemporaryBlock",
        [.optional("seconds", .number, "After how many the block ends by itself.")]
    )

    static let counterChange = Self.object(
        "CounterChange",
        [.required("advance", .count, "By how many steps, 100 000 at most.")]
    )

    static let activationSummary = Self.object(
        "ActivationSummary",
        [
            .required("id", .string), .required("userID", .string), .required("applicationID", .string),
            .optional("name", .string), .required("status", .oneOf(ServerActivation.Status.self)),
            .optional("version", .string), .optional("suite", .oneOf(AlgorithmSuite.self)),
            .required("flags", .strings), .optional("blockExpires", .date),
            .optional("fingerprint", .string, "Eight digits that the device shows too."),
            .required("counter", .count), .required("failedAttempts", .count),
            .required("maximumFailedAttempts", .count), .optional("activationQRCode", .string),
            .required("created", .date), .optional("pushPlatform", .string), .optional("pushToken", .string),
        ]
    )

    static let operationSummary = Self.object(
        "OperationSummary",
        [
            .required("id", .string), .optional("userID", .string), .required("name", .string),
            .required("title", .string), .required("data", .string),
            .required("status", .oneOf(ServerOperation.Status.self)), .optional("statusReason", .string),
            .optional("rejectReason", .string),
            .required("failureCount", .count), .required("maximumFailureCount", .count),
            .required("created", .date), .required("expires", .date), .optional("proximityCode", .string),
        ]
    )

    static let messageSummary = Self.object(
        "MessageSummary",
        [
            .required("id", .string), .required("userID", .string), .required("type", .string),
            .required("subject", .string), .required("summary", .string), .required("body", .string),
            .required("isRead", .boolean), .required("created", .date),
        ]
    )

    private static let templateSummary = Self.object(
        "TemplateSummary",
        [
            .required("name", .string), .required("title", .string), .required("parameters", .strings),
            .required("defaults", .object([], others: .string)), .optional("lifetime", .number),
            .required("demandsProximityCheck", .boolean),
        ]
    )

    static let deliverySummary = Self.object(
        "DeliverySummary",
        [
            .required("id", .count), .optional("callbackID", .string), .required("url", .string),
            .required("body", .string), .required("state", .oneOf(Outbox.Delivery.State.self)),
            .required("attempts", .count), .optional("status", .count, "That of the last response."),
            .optional("failure", .string, "Why there was no response."), .required("created", .date),
            .optional("due", .date, "When it is tried next."),
        ]
    )

    static let pushSummary = Self.object(
        "PushSummary",
        [
            .required("id", .count), .required("type", .oneOf(PushMessage.Kind.self)),
            .required("activationID", .string), .required("userID", .string), .required("platform", .string),
            .required("token", .string), .optional("environment", .string),
            .required("payload", .string, "What the device gets, as JSON."), .required("created", .date),
        ]
    )

    private static func page(_ name: String, of element: Schema) -> Self {
        .object(name, [.required("items", .list(of: element)), .required("total", .count)])
    }

    static let activationSummaries = Self.page("ActivationSummaries", of: .activationSummary)
    static let operationSummaries = Self.page("OperationSummaries", of: .operationSummary)
    static let messageSummaries = Self.page("MessageSummaries", of: .messageSummary)
    static let deliverySummaries = Self.page("DeliverySummaries", of: .deliverySummary)
    static let pushSummaries = Self.page("PushSummaries", of: .pushSummary)
    static let templates = Self.page("TemplateSummaries", of: .templateSummary)
}
