import APIDescriptions
import CloudCalls
import EmulatorMessages
import ExactJSON
import Foundation
import PowerAuthProtocol

/// A user's inbox, for the user's device.
enum InboxEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST",
            "/api/inbox/count",
            "Counts unread messages.",
            shows: .token,
            takes: .ignored,
            gives: .inboxCountResponse,
            Self.count
        ),
        .device(
            "POST",
            "/api/inbox/message/list",
            "Lists messages.",
            shows: .token,
            takes: .required(.inboxListRequest),
            gives: .inboxListResponse,
            Self.list
        ),
        .device(
            "POST",
            "/api/inbox/message/detail",
            "Shows a message.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .inboxMessageResponse,
            Self.detail
        ),
        .device(
            "POST",
            "/api/inbox/message/read",
            "Marks a message as read.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .done,
            Self.markRead
        ),
        .device(
            "POST",
            "/api/inbox/message/read-all",
            "Marks all messages as read.",
            shows: .token,
            takes: .ignored,
            gives: .done,
            Self.markAllRead
        ),
    ]

    static func count(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        var count = 0
        for message in bank.state.inbox.newestFirst(ofUser: activation.userID) where !message.isRead { count += 1 }
        return .object(["countUnread": .number(JSONNumber(count))])
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        let request = try context.requestObject()
        let page = try request.optionalInteger("page") ?? 0
        let size = try request.optionalInteger("size")
        let onlyUnread = try request.optionalBool("onlyUnread") ?? false
        guard (0...1_000_000).contains(page) else { throw .invalidRequest("'page' is out of range") }
        guard size.map({ (1...100).contains($0) }) ?? true else {
            throw .invalidRequest("'size' is not between 1 and 100")
        }
        let length = size ?? Self.lengthOfPageWithoutSize
        let messages = bank.state.inbox.newestFirst(ofUser: activation.userID)
            .filter { !onlyUnread || !$0.isRead }
            .dropFirst(Int(page * length))
            .prefix(Int(length))
        return .json([
            "status": "OK", "responseObject": .array(messages.map { Self.presented($0, withBody: false) }),
            "page": .number(JSONNumber(page)), "size": .number(JSONNumber(size ?? 0)),
        ])
    }

    /// The size that is left out is 0 to real servers, and the push server behind them takes that for a page of 20.
    private static var lengthOfPageWithoutSize: Int64 { 20 }

    static func detail(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let message = try Self.addressedMessage(&bank, &context)
        return .object(Self.presented(message, withBody: true))
    }

    static func markRead(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let message = try Self.addressedMessage(&bank, &context)
        Self.markRead([message], &bank, &context)
        return .ok
    }

    static func markAllRead(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        Self.markRead(Array(bank.state.inbox.newestFirst(ofUser: activation.userID)), &bank, &context)
        return .ok
    }

    private static func markRead(
        _ messages: [InboxMessage],
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) {
        for message in messages where !message.isRead {
            bank.state.inbox.markRead(message.id)
            context.events.append(BackendEvent(subject: .message, id: message.id, status: "READ"))
        }
    }

    private static func addressedMessage(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> InboxMessage
    {
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        let id = try context.requestObject().string("id")
        guard let message = bank.state.inbox.message(id, ofUser: activation.userID) else {
            throw .inboxFailed("there is no such message of the user")
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
