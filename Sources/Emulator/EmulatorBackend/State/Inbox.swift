import Basics
package import MobileTokenCloud

/// A message in a user's inbox.
package struct ServerInboxMessage: Sendable, Codable, Equatable {
    package typealias Format = CloudMessageFormat

    package let id: String
    package let userID: String
    /// The application that shows it.
    let applicationID: String
    package let format: Format
    package let subject: String
    package let summary: String
    package let body: String
    /// Indicates whether no push message is sent for it.
    let isSilent: Bool
    package let created: Milliseconds
    package var isRead = false
}

/// The messages of all users.
package struct Inbox: Sendable, Codable, Equatable {
    /// For the data file, which then calls ``restoreOrder()``.
    var messages = Table<ServerInboxMessage>()
    private var identifiersByUser: [String: [String]] = [:]

    package var count: Int { self.messages.count }

    mutating func insert(_ message: ServerInboxMessage) {
        self.messages[message.id] = message
        self.identifiersByUser[message.userID, default: []].append(message.id)
    }

    package subscript(id: String) -> ServerInboxMessage? { self.messages[id] }

    package var newestFirst: [ServerInboxMessage] {
        // Requests read only users' inboxes; only the console needs this order.
        self.messages.values.sorted { ($0.created, $0.id) > ($1.created, $1.id) }
    }

    func newestFirst(for activation: ServerActivation) -> some Sequence<ServerInboxMessage> {
        (self.identifiersByUser[activation.userID] ?? []).reversed().lazy.compactMap {
            self.message($0, for: activation)
        }
    }

    /// Returns a message if it belongs to the activation's user and application.
    func message(_ id: String, for activation: ServerActivation) -> ServerInboxMessage? {
        self.messages[id].flatMap { message in
            message.userID.isExactly(activation.userID)
                && message.applicationID.isExactly(activation.applicationID) ? message : nil
        }
    }

    mutating func markRead(_ id: String) {
        guard self.messages[id]?.isRead == false else { return }
        self.messages.update(id) { $0.isRead = true }
    }

    /// Restores the order after the table was filled from outside.
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
        let messages = try container.decode([String: ServerInboxMessage].self, forKey: .messages)
        // Only the order within each inbox matters.
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

package struct PushDevice: Sendable, Codable, Hashable {
    /// The platforms that a device may name; the first three are those of older clients.
    package static let platforms = ["ios", "android", "huawei", "apns", "fcm", "hms"]
    /// The Apple environments of a device.
    static let environments = ["development", "production"]

    let activationID: String
    package let platform: String
    package let token: String
    let environment: String?
    let registered: Milliseconds
}
