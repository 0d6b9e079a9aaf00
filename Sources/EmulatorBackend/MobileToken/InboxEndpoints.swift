internal import EmulatorMessages
internal import ExactJSON
internal import Foundation
internal import PowerAuthProtocol

extension Backend {
    mutating func countMessages(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .powerAuth)
        _ = try context.json()
        var count = 0
        for message in self.state.inbox.newestFirst(ofUser: activation.userID) where !message.isRead { count += 1 }
        return .object(["countUnread": .number(JSONNumber(count))])
    }

    mutating func listMessages(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .powerAuth)
        let request = try context.requestObject()
        let page = try request.optionalInteger("page") ?? 0
        let size = try request.optionalInteger("size") ?? 100
        let onlyUnread = try request.optionalBool("onlyUnread") ?? false
        guard (0...1_000_000).contains(page) else { throw .invalidRequest("'page' is out of range") }
        guard (1...100).contains(size) else { throw .invalidRequest("'size' is not between 1 and 100") }
        let messages = self.state.inbox.newestFirst(ofUser: activation.userID)
            .filter { !onlyUnread || !$0.isRead }
            .dropFirst(Int(page * size))
            .prefix(Int(size))
        return .object(.array(messages.map { Self.presented($0, withBody: false) }))
    }

    mutating func messageDetail(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let message = try self.addressedMessage(&context)
        return .object(Self.presented(message, withBody: true))
    }

    mutating func markMessageRead(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let message = try self.addressedMessage(&context)
        self.markRead([message], &context)
        return .ok
    }

    mutating func markAllMessagesRead(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try self.authenticateToken(&context, dialect: .powerAuth)
        _ = try context.json()
        self.markRead(Array(self.state.inbox.newestFirst(ofUser: activation.userID)), &context)
        return .ok
    }

    private mutating func markRead(_ messages: [InboxMessage], _ context: inout RequestContext) {
        for message in messages where !message.isRead {
            self.state.inbox.markRead(message.id)
            context.events.append(BackendEvent(subject: .message, id: message.id, status: "READ"))
        }
    }

    private mutating func addressedMessage(_ context: inout RequestContext) throws(Refusal) -> InboxMessage {
        let activation = try self.authenticateToken(&context, dialect: .powerAuth)
        let id = try context.requestObject().string("id")
        guard let message = self.state.inbox.message(id, ofUser: activation.userID) else {
            throw .invalidRequest("There is no such message")
        }
        return message
    }

    private static func presented(_ message: InboxMessage, withBody: Bool) -> JSONValue {
        var object: JSONObject = [
            "id": .string(message.id),
            "type": .string(message.format.rawValue),
            "subject": .string(message.subject),
            "summary": .string(message.summary),
        ]
        if withBody { object["body"] = .string(message.body) }
        object["read"] = .bool(message.isRead)
        object["timestampCreated"] = .string(ISO8601.string(from: Date(milliseconds: message.created)))
        return .object(object)
    }
}
