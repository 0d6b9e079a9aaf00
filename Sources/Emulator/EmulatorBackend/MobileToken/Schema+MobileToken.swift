import APIDescriptions
import MobileTokenCloud

// The bodies of the Mobile Token API, push registration and the inbox.

extension Schema {
    /// A body with its content in `requestObject`. Devices may add undescribed members.
    static func request(_ content: Schema) -> Self { .open([.required("requestObject", content)]) }

    static let idRequest = Self.named("IdRequest", .request(.open([.required("id", .word)])))

    static let authorizeRequest = Self.named(
        "AuthorizeRequest",
        .request(
            .open([
                .required("id", .word), .required("data", .word, "As the operation has it."),
                .optional(
                    "proximityCheck",
                    .open([.optional("otp", .string), .optional("type", .oneOf(["QR_CODE", "DEEPLINK"]))])
                ),
                .optional("mobileTokenData", .open()),
            ])
        )
    )

    static let rejectRequest = Self.named(
        "RejectRequest",
        .request(
            .open([.required("id", .word), .optional("reason", .string), .optional("mobileTokenData", .open())])
        )
    )

    static let pushRequest = Self.named(
        "PushRequest",
        .request(
            .open([
                .required("platform", .oneOf(PushDevice.platforms)), .required("token", .word),
                .optional("environment", .oneOf(PushDevice.environments), "The environment of Apple's servers."),
            ])
        )
    )

    static let inboxListRequest = Self.named(
        "InboxListRequest",
        .request(
            .open([
                .optional("page", .integer(0...1_000_000), unit: .number),
                .optional("size", .integer(0...1_000_000), "0 gives 20 messages."),
                .optional("onlyUnread", .boolean),
            ])
        )
    )

    static let anyRequest = Self.open()

    private static let shownOperation = Self.object(
        "ShownOperation",
        [
            .required("id", .string), .required("name", .string), .required("data", .string),
            .required("status", .oneOf(ServerOperation.Status.self)), .optional("statusReason", .string),
            .required("operationCreated", .date), .required("operationExpires", .date),
            .required("allowedSignatureType", .allowedSignature), .required("formData", .open()),
            .optional("ui", .open()),
        ]
    )

    private static func timed(_ content: Schema) -> Self {
        .object([
            .required("status", .oneOf(["OK"])), .required("currentTimestamp", .date, "The server's time."),
            .required("responseObject", content),
        ])
    }

    static let shownOperationResponse = Self.named("ShownOperationResponse", .timed(.shownOperation))
    static let shownOperationsResponse = Self.named("ShownOperationsResponse", .timed(.list(of: .shownOperation)))

    static let operationHistoryResponse = Self.named("OperationHistoryResponse", .wrapped(.list(of: .shownOperation)))

    private static let inboxItem: [Member] = [
        .required("id", .string), .required("type", .oneOf(ServerInboxMessage.Format.self)),
        .required("subject", .string),
        .required("summary", .string), .required("read", .boolean), .required("timestampCreated", .date),
    ]

    static let inboxListResponse = Self.named(
        "InboxListResponse",
        .object([
            .required("status", .oneOf(["OK"])),
            .required("responseObject", .list(of: .object("InboxItem", Self.inboxItem))),
            .required("page", .integer(-2_147_483_648...2_147_483_647), unit: .number),
            .required("size", .integer(-2_147_483_648...2_147_483_647), "The size asked for; 0 where none was."),
        ])
    )

    static let inboxMessageResponse = Self.named(
        "InboxMessageResponse",
        .wrapped(.object("InboxMessage", Self.inboxItem + [.required("body", .string)]))
    )

    static let inboxCountResponse = Self.named(
        "InboxCountResponse",
        .wrapped(.object([.required("countUnread", .count)]))
    )
}
