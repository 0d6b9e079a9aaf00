import Basics
package import CloudCalls
import PowerAuthProtocol

/// A message in a user's inbox.
package struct InboxMessage: Sendable, Codable, Equatable {
    package typealias Format = CloudMessageFormat

    package let id: String
    package let userID: String
    package let format: Format
    package let subject: String
    package let summary: String
    package let body: String
    /// Indicates whether no push message goes out for it.
    let isSilent: Bool
    package let created: Milliseconds
    package var isRead = false
}

/// The messages of all users.
package struct Inbox: Sendable, Codable, Equatable {
    /// For the data file, which then calls ``restoreOrder()``.
    var messages = Table<InboxMessage>()
    private var identifiersByUser: [String: [String]] = [:]

    package var count: Int { self.messages.count }

    mutating func insert(_ message: InboxMessage) {
        self.messages[message.id] = message
        self.identifiersByUser[message.userID, default: []].append(message.id)
    }

    package subscript(id: String) -> InboxMessage? { self.messages[id] }

    /// Every message, newest first.
    package var newestFirst: [InboxMessage] {
        // Users' inboxes are all that requests read; only the console asks for this order.
        self.messages.values.sorted { ($0.created, $0.id) > ($1.created, $1.id) }
    }

    /// A user's messages, newest first.
    func newestFirst(ofUser userID: String) -> some Sequence<InboxMessage> {
        (self.identifiersByUser[userID] ?? []).reversed().lazy.compactMap { self.message($0, ofUser: userID) }
    }

    /// A message, when it is the user's.
    func message(_ id: String, ofUser userID: String) -> InboxMessage? {
        self.messages[id].flatMap { $0.userID.isExactly(userID) ? $0 : nil }
    }

    mutating func markRead(_ id: String) {
        guard self.messages[id]?.isRead == false else { return }
        self.messages.update(id) { $0.isRead = true }
    }

    /// Finds the order of a table that was filled from outside.
    mutating func restoreOrder() {
        self.identifiersByUser = [:]
        for id in self.messages.keysInOrder {
            if let message = self.messages[id] { self.identifiersByUser[message.userID, default: []].append(id) }
        }
    }
}

extension Inbox {
    private enum CodingKeys: CodingKey { case messages, identifiersByUser }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let messages = try container.decode([String: InboxMessage].self, forKey: .messages)
        // The order within each inbox is what counts.
        for (_, ids) in try container.decode([String: [String]].self, forKey: .identifiersByUser) {
            for message in ids.compactMap({ messages[$0] }) where self.messages[message.id] == nil {
                self.insert(message)
            }
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.messages, forKey: .messages)
        try container.encode(self.identifiersByUser, forKey: .identifiersByUser)
    }
}

/// A device that takes push messages.
package struct PushDevice: Sendable, Codable, Hashable {
    /// The channels that a device may say it is reached by; the last three are what older clients say.
    package static let platforms = ["apns", "fcm", "hms", "ios", "android", "huawei"]
    /// The servers of Apple that reach a device.
    static let environments = ["development", "production"]

    let activationID: String
    package let platform: String
    package let token: String
    let environment: String?
    let registered: Milliseconds
}
