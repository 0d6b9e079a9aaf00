import CloudCalls
public import ExactJSON
public import Foundation

extension CloudClient {
    /// A message to be put into a user's inbox.
    public struct NewMessage: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The user whose inbox it is put into.
        public var userID: String
        /// The subject.
        public var subject: String
        /// The beginning, for lists.
        public var summary: String
        /// The text.
        public var body: String
        /// Indicates whether ``body`` is HTML; plain text by default.
        public var isHTML = false
        /// Indicates whether nothing is pushed; by default the server says it.
        public var isSilent: Bool?

        /// Creates a message.
        public init(userID: String, subject: String, summary: String, body: String) {
            (self.userID, self.subject, self.summary, self.body) = (userID, subject, summary, body)
        }

        /// The name of the type alone.
        public var description: String { "NewMessage" }
        /// Empty, so that `dump` reveals no text.
        public var customMirror: Mirror { Mirror(self, children: []) }

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
    public struct Message: Sendable, Identifiable, CustomStringConvertible, CustomReflectable {
        private let wire: CloudMessage

        init(_ wire: CloudMessage) { self.wire = wire }

        /// The message's identifier.
        public var id: String { self.wire.id }
        /// The subject.
        public var subject: String { self.wire.subject }
        /// The beginning, for lists.
        public var summary: String { self.wire.summary }
        /// The text.
        public var body: String { self.wire.body }
        /// The server's time at which it was created.
        public var created: Date { Date(milliseconds: self.wire.created) }
        /// Indicates whether the user has read it.
        public var isRead: Bool { self.wire.isRead }

        /// The name of the type alone.
        public var description: String { "Message" }
        /// Empty, so that `dump` reveals no text.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// A message that is pushed to the devices of a user, and not kept.
    public struct NewPush: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The user whose devices get it.
        public var userID: String
        /// The only registration whose device gets it; `nil` for all of the user's.
        public var registrationID: String?
        /// Indicates whether the user is shown nothing; by default the server says it.
        public var isSilent: Bool?
        /// The title; needed, unless it is silent.
        public var title: String?
        /// The text; needed, unless it is silent.
        public var message: String?
        /// The name of the sound that the device plays; `nil` for its own.
        public var sound: String?
        /// Further members of what the device gets.
        public var extras: JSONObject?

        /// Creates a message to be pushed.
        public init(userID: String, title: String?, message: String?) {
            (self.userID, self.title, self.message) = (userID, title, message)
        }

        /// The name of the type alone.
        public var description: String { "NewPush" }
        /// Empty, so that `dump` reveals no text.
        public var customMirror: Mirror { Mirror(self, children: []) }

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

    /// Puts a message into a user's inbox.
    ///
    /// It is sent once. When ``CloudError/isOutcomeUnknown``, the message may be there.
    ///
    /// - Throws: ``CloudError``.
    public func createMessage(_ message: NewMessage) async throws -> CloudResponse<Message> {
        try await self.call(CloudAPI.createMessage, message.wire) { Message($0) }
    }

    /// Pushes a message to the devices of a user.
    ///
    /// - Throws: ``CloudError/Code/pushFailed``.
    @discardableResult
    public func push(_ message: NewPush) async throws -> CloudResponse<Void> {
        try await self.call(CloudAPI.push, message.wire)
    }
}
