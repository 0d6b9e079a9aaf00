package import EmulatorMessages

// What the cloud API takes and gives: messages, pushes, applications and users.

extension Schema {
    package static let newMessage = Self.tolerant(
        "NewMessage",
        [
            .required("userId", .word, "Whose inbox it is put into."), .required("subject", .word),
            .required("summary", .word), .required("body", .word),
            .optional("type", .oneOf(InboxMessage.Format.self)), .optional("silent", .boolean),
        ]
    )

    package static let message = Self.object(
        "Message",
        [
            .required("id", .string), .required("subject", .string), .required("summary", .string),
            .required("body", .string), .required("type", .oneOf(InboxMessage.Format.self)),
            .required("timestamp", .timestamp), .required("read", .boolean),
        ]
    )

    static let newPush = Self.tolerant(
        "NewPush",
        [
            .required("userId", .word, "Whose devices get it."),
            .optional("registrationId", .string, "The only registration whose device gets it."),
            .optional("silent", .boolean, "Whether the user is shown nothing; not by default."),
            .optional("title", .string, "Needed, unless it is silent."),
            .optional("message", .string, "Needed, unless it is silent."),
            .optional("sound", .string), .optional("extras", .open(), "Further members of what the device gets."),
        ]
    )

    static let newApplication = Self.tolerant(
        "NewApplication",
        [.required("id", .word), .optional("roles", .strings, "What the bank wants to know it by.")]
    )

    static let newCloudUser = Self.tolerant("NewCloudUser", [.required("username", .word)])

    static let cloudUser = Self.object(
        "CloudUser",
        [.required("username", .string), .required("password", .string, "What this server made up.")]
    )

    static let application = Self.object(
        "Application",
        [
            .required("appId", .string), .required("applicationKey", .base64), .required("applicationSecret", .base64),
            .required("masterServerPublicKey", .base64),
            .required("sdkConfiguration", .string, "The string that configures a client."),
        ]
    )

    static let applications = Self.object("Applications", [.required("applications", .list(of: .application))])

    static let applicationDetail = Self.object(
        "ApplicationDetail",
        [
            .required("id", .string), .required("serviceBaseUrl", .string), .required("appKey", .base64),
            .required("appSecret", .base64), .required("masterServerPublicKey", .base64),
            .required("mobileSdkConfig", .string), .required("roles", .strings),
        ]
    )
}
