import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// Inbox messages, for the bank that sends them.
enum CloudMessageEndpoints {
    static let routes: [Backend.Route] = [
        .cloud(
            "POST",
            "/v2/inbox/messages",
            of: .powerAuthCloud,
            adds: .message,
            "Puts a message into a user's inbox.",
            takes: .required(.newMessage),
            gives: .message,
            Self.create
        )
    ]

    static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let request = try context.json()
        let userID = try request.string("userId")
        let (subject, summary) = (try request.string("subject"), try request.string("summary"))
        let body = try request.string("body")
        guard let format = InboxMessage.Format(rawValue: try request.optionalString("type") ?? "text") else {
            throw .invalid("type", "is none of text, html")
        }
        let isSilent = try request.optionalBool("silent") ?? false
        let message = InboxMessage(
            id: bank.state.randomness.identifier(),
            userID: userID,
            format: format,
            subject: subject,
            summary: summary,
            body: body,
            isSilent: isSilent,
            created: context.now
        )
        bank.state.inbox.insert(message)
        context.events.append(BackendEvent(subject: .message, id: message.id, status: "CREATED", isNew: true))
        return .json([
            "id": .string(message.id),
            "subject": .string(message.subject),
            "summary": .string(message.summary),
            "body": .string(message.body),
            "type": .string(message.format.rawValue),
            "timestamp": .number(JSONNumber(message.created)),
            "read": false,
        ]
        )
    }
}
