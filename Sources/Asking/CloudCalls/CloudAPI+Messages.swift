package import APIDescriptions
package import ExactJSON

extension CloudAPI {
    package static let createMessage = Self.endpoint(
        "POST /v2/inbox/messages",
        fills: true,
        "Puts a message into a user's inbox.",
        takes: Call.body(NewCloudMessage.form),
        gives: CloudMessage.form
    )

    package static let push = Self.endpoint(
        "POST /v2/messages/send",
        "Pushes a message to the devices of a user.",
        takes: Call.body(NewPush.form),
        gives: .done
    )

    /// A push message to devices.
    package struct NewPush: Described {
        package var userID: String
        package var registrationID: String?
        package var isSilent: Bool?
        package var title: String?
        package var message: String?
        package var sound: String?
        package var extras: JSONValue?

        package static let fields = FieldTable(
            "NewPush",
            Self.init,
            .required("userId", \.userID, .word(upTo: 255), "The user whose devices get it."),
            .optional("registrationId", \.registrationID, .string, "The only registration whose device gets it."),
            .optional("silent", \.isSilent, .boolean, "Shows nothing to the user; `false` by default."),
            .optional("title", \.title, .string, "Needed, unless it is silent.", example: "News"),
            .optional("message", \.message, .string, "Needed, unless it is silent.", example: "What is new"),
            .optional("sound", \.sound, .string),
            .optional("extras", \.extras, .json(.open()), "Further members of what the device gets.")
        ).tolerant

        package init(
            userID: String,
            registrationID: String?,
            isSilent: Bool?,
            title: String?,
            message: String?,
            sound: String?,
            extras: JSONValue?
        ) {
            (self.userID, self.registrationID, self.isSilent) = (userID, registrationID, isSilent)
            (self.title, self.message, self.sound, self.extras) = (title, message, sound, extras)
        }
    }
}

package enum CloudMessageFormat: String, Sendable, Codable, CaseIterable {
    case text, html
}

/// A message for an inbox.
package struct NewCloudMessage: Described {
    package var userID: String
    package var subject: String
    package var summary: String
    package var body: String
    package var format: CloudMessageFormat?
    package var isSilent: Bool?
    package var applicationID: String?

    package static let fields = FieldTable(
        "NewMessage",
        Self.init(userID:subject:summary:body:format:isSilent:applicationID:),
        .required("userId", \.userID, .word(upTo: 255), "The user into whose inbox it is put."),
        .required("subject", \.subject, .word),
        .required("summary", \.summary, .word),
        .required("body", \.body, .word),
        .optional("type", \.format, .cases()),
        .optional("silent", \.isSilent, .boolean),
        .optional("appId", \.applicationID, .string, "The application whose devices show it.")
    ).tolerant

    package init(
        userID: String,
        subject: String,
        summary: String,
        body: String,
        format: CloudMessageFormat?,
        isSilent: Bool?,
        applicationID: String? = nil
    ) {
        (self.userID, self.subject, self.summary, self.body) = (userID, subject, summary, body)
        (self.format, self.isSilent, self.applicationID) = (format, isSilent, applicationID)
    }
}

/// A message in the API's form.
package struct CloudMessage: Described, Hashable {
    package var id: String
    package var subject: String
    package var summary: String
    package var body: String
    package var format: String
    /// The creation time in milliseconds since 1970.
    package var created: Int64
    package var isRead: Bool

    package static let fields = FieldTable(
        "Message",
        Self.init,
        .required("id", \.id, .string),
        .required("subject", \.subject, .string),
        .required("summary", \.summary, .string),
        .required("body", \.body, .string),
        .required("type", \.format, .string(oneOf: CloudMessageFormat.allCases.map(\.rawValue))),
        .required("timestamp", \.created, .timestamp),
        .required("read", \.isRead, .boolean)
    )

    package init(
        id: String,
        subject: String,
        summary: String,
        body: String,
        format: String,
        created: Int64,
        isRead: Bool
    ) {
        (self.id, self.subject, self.summary, self.body) = (id, subject, summary, body)
        (self.format, self.created, self.isRead) = (format, created, isRead)
    }
}
