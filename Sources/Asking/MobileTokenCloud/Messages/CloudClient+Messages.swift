import CloudCalls
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
        /// Indicates whether ``body`` is HTML. Default: `false`, plain text.
        public var isHTML = false
        /// Suppresses the push notification. Default: the server's.
        public var isSilent: Bool?

        /// Creates a message.
        public init(userID: String, subject: String, summary: String, body: String) {
            (self.userID, self.subject, self.summary, self.body) = (userID, subject, summary, body)
        }

        /// The name of the type only.
        public var description: String { "NewMessage" }

        var wire: NewCloudMessage {
            NewCloudMessage(
                userID: self.userID,
                subject: self.subject,
                summary: self.summary,
                body: self.body,
                format: self.isHTML ? .html : .text,
                isSilent: self.isSilent
            )
        }
    }

    /// A message in an inbox.
    public struct Message: Sendable, Identifiable, CustomStringConvertible {
        private let wire: CloudMessage

        init(_ wire: CloudMessage) { self.wire = wire }

        /// The message's identifier.
        public var id: String { self.wire.id }
        /// The subject.
        public var subject: String { self.wire.subject }
        /// The summary for lists.
        public var summary: String { self.wire.summary }
        /// The text.
        public var body: String { self.wire.body }
        /// The server's time of creation.
        public var created: Date { Date(milliseconds: self.wire.created) }
        /// Indicates whether the user has read it.
        public var isRead: Bool { self.wire.isRead }

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

        /// Creates a push message.
        public init(userID: String, title: String?, message: String?) {
            (self.userID, self.title, self.message) = (userID, title, message)
        }

        /// The name of the type only.
        public var description: String { "NewPush" }

        var wire: CloudAPI.NewPush {
            CloudAPI.NewPush(
                userID: self.userID,
                registrationID: self.registrationID,
                isSilent: self.isSilent,
                title: self.title,
                message: self.message,
                sound: self.sound,
                extras: self.extras.map { .object($0) }
            )
        }
    }

    /// Adds a message to a user's inbox. It is sent once. With ``CloudError/isOutcomeUnknown``, the message may be there.
    ///
    /// - Throws: ``CloudError``.
    public func createMessage(_ message: NewMessage) async throws -> CloudResponse<Message> {
        try await self.call(CloudAPI.createMessage, message.wire) { Message($0) }
    }

    /// Pushes a message to a user's devices.
    ///
    /// - Throws: ``CloudError/Code/pushFailed``.
    @discardableResult
    public func push(_ message: NewPush) async throws -> CloudResponse<Void> {
        try await self.call(CloudAPI.push, message.wire)
    }
}
