import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud

/// A user's inbox, for the user's device.
enum InboxEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST /api/inbox/count",
            "Counts unread messages.",
            shows: .token,
            takes: .ignored,
            gives: .inboxCountResponse,
            Self.count
        ),
        .device(
            "POST /api/inbox/message/list",
            "Lists messages.",
            shows: .token,
            takes: .required(.inboxListRequest),
            gives: .inboxListResponse,
            Self.list
        ),
        .device(
            "POST /api/inbox/message/detail",
            "Shows a message.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .inboxMessageResponse,
            Self.detail
        ),
        .device(
            "POST /api/inbox/message/read",
            "Marks a message as read.",
            shows: .token,
            takes: .required(.idRequest),
            gives: .done,
            Self.markRead
        ),
        .device(
            "POST /api/inbox/message/read-all",
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
        for message in bank.state.inbox.newestFirst(for: activation) where !message.isRead { count += 1 }
        return .object(["countUnread": .number(JSONNumber(count))])
    }

    static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.optionalRequestObject()
        let page = try request?.optionalInteger("page") ?? 0
        let size = try request?.optionalInteger("size") ?? 0
        let onlyUnread = try request?.optionalBool("onlyUnread") ?? false
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        guard request != nil else { throw .unreadable("The request object is missing") }
        let length = size > 0 ? size : Self.lengthOfPageWithoutSize
        let start = max(page, 0) * length
        guard start <= Int32.max else { throw .inboxFailed("the page begins behind message \(Int32.max)") }
        let messages = bank.state.inbox.newestFirst(for: activation)
            .filter { !onlyUnread || !$0.isRead }
            .dropFirst(start)
            .prefix(length)
        return .json([
            "status": "OK", "responseObject": .array(messages.map { Self.presented($0, withBody: false) }),
            "page": .number(JSONNumber(page)), "size": .number(JSONNumber(size)),
        ])
    }

    /// The page size if omitted. Real servers send 0 to the push server, which takes that for 20.
    private static var lengthOfPageWithoutSize: Int { 20 }

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
        Self.markRead(Array(bank.state.inbox.newestFirst(for: activation)), &bank, &context)
        return .ok
    }

    private static func markRead(
        _ messages: [ServerInboxMessage],
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) {
        for message in messages where !message.isRead {
            bank.state.inbox.markRead(message.id)
            context.events.append(BackendEvent(subject: .message, id: message.id, status: "READ"))
        }
    }

    private static func addressedMessage(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerInboxMessage
    {
        let request = try IDRequest(context)
        let activation = try bank.authenticateToken(&context, dialect: .powerAuth)
        guard let message = bank.state.inbox.message(try request.id() ?? "", for: activation) else {
            throw .inboxFailed("there is no such message of the user")
        }
        return message
    }

    private static func presented(_ message: ServerInboxMessage, withBody: Bool) -> JSONValue {
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
