package import APIDescriptions
public import ExactJSON
public import Foundation

extension CloudClient {
    /// A message for a user's inbox.
    public struct NewMessage: Sendable, Hashable, CustomStringConvertible {
        /// The user.
        public var userID: String
        /// The subject.
        public var subject: String
        /// A summary for lists.
        public var summary: String
        /// The text.
        public var body: String
        package var format: CloudMessageFormat?
        /// Suppresses the push notification. Default: the server's.
        public var isSilent: Bool?
        /// The application whose devices show it; the server's own if left out.
        package var applicationID: String?

        /// Indicates whether ``body`` is HTML. Default: `false`, plain text.
        public var isHTML: Bool {
            get { self.format == .html }
            set { self.format = newValue ? .html : .text }
        }

        /// The name of the type only.
        public var description: String { "NewMessage" }
    }

    /// A message in an inbox.
    public struct Message: Sendable, Hashable, Identifiable, CustomStringConvertible {
        /// The message's identifier.
        public let id: String
        /// The subject.
        public let subject: String
        /// The summary for lists.
        public let summary: String
        /// The text.
        public let body: String
        package let format: String
        /// Since 1970.
        package let createdMilliseconds: Int64
        /// Indicates whether the user has read it.
        public let isRead: Bool

        /// The server's time of creation.
        public var created: Date { Date(milliseconds: self.createdMilliseconds) }

        /// The name of the type only.
        public var description: String { "Message" }
    }

    /// A push message for a user's devices, which is not stored.
    public struct NewPush: Sendable, Hashable, CustomStringConvertible {
        /// The user.
        public var userID: String
        /// The registration of the receiving device; `nil` for all devices of the user.
        public var registrationID: String?
        /// Sends the message without displaying it. Default: the server's.
        public var isSilent: Bool?
        /// The title; required unless silent.
        public var title: String?
        /// The text; required unless silent.
        public var message: String?
        /// The name of the sound to play; `nil` for the device's own.
        public var sound: String?
        /// Further members for the device.
        public var extras: JSONObject?

        /// The name of the type only.
        public var description: String { "NewPush" }
    }

    /// Adds a message to a user's inbox. It is sent once. With ``CloudError/isOutcomeUnknown``, the message may be there.
    ///
    /// - Throws: ``CloudError``.
    public func createMessage(_ message: NewMessage) async throws -> CloudResponse<Message> {
        try await self.call(CloudAPI.createMessage, message)
    }

    /// Pushes a message to a user's devices.
    ///
    /// - Throws: ``CloudError/Code/pushFailed``.
    @discardableResult
    public func push(_ message: NewPush) async throws -> CloudResponse<Void> {
        try await self.call(CloudAPI.push, message)
    }
}

extension CloudClient.NewMessage: Described {
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
}

extension CloudClient.NewMessage {
    /// Creates a message.
    public init(userID: String, subject: String, summary: String, body: String) {
        self.init(userID: userID, subject: subject, summary: summary, body: body, format: .text)
    }
}

extension CloudClient.Message: Described {
    package static let fields = FieldTable(
        "Message",
        Self.init(id:subject:summary:body:format:createdMilliseconds:isRead:),
        .required("id", \.id, .string),
        .required("subject", \.subject, .string),
        .required("summary", \.summary, .string),
        .required("body", \.body, .string),
        .required("type", \.format, .string(oneOf: CloudMessageFormat.allCases.map(\.rawValue))),
        .required("timestamp", \.createdMilliseconds, .timestamp),
        .required("read", \.isRead, .boolean)
    )

    package init(
        id: String,
        subject: String,
        summary: String,
        body: String,
        format: CloudMessageFormat,
        created: Int64,
        isRead: Bool
    ) {
        (self.id, self.subject, self.summary, self.body) = (id, subject, summary, body)
        (self.format, self.createdMilliseconds, self.isRead) = (format.rawValue, created, isRead)
    }
}

extension CloudClient.NewPush: Described {
    package static let fields = FieldTable(
        "NewPush",
        Self.init(userID:registrationID:isSilent:title:message:sound:extras:),
        .required("userId", \.userID, .word(upTo: 255), "The user whose devices get it."),
        .optional("registrationId", \.registrationID, .string, "The only registration whose device gets it."),
        .optional("silent", \.isSilent, .boolean, "Shows nothing to the user; `false` by default."),
        .optional("title", \.title, .string, "Needed, unless it is silent.", example: "News"),
        .optional("message", \.message, .string, "Needed, unless it is silent.", example: "What is new"),
        .optional("sound", \.sound, .string),
        .optional("extras", \.extras, .object, "Further members of what the device gets.")
    ).tolerant
}

extension CloudClient.NewPush {
    /// Creates a push message.
    public init(userID: String, title: String?, message: String?) {
        (self.userID, self.title, self.message) = (userID, title, message)
    }
}
