import MobileTokenCloud

/// Inbox messages, sent by the bank.
enum CloudMessageEndpoints {
    static let routes: [Backend.Route] = [.cloud(CloudAPI.createMessage, adds: .message, Self.create)]

    private static func create(
        _ bank: inout Backend,
        _ request: CloudClient.NewMessage,
        _ context: inout RequestContext
    ) throws(Refusal) -> CloudClient.Message {
        let message = ServerInboxMessage(
            id: bank.state.randomness.identifier(),
            userID: request.userID,
            applicationID: try bank.application(named: request.applicationID).id,
            format: request.format ?? .text,
            subject: request.subject,
            summary: request.summary,
            body: request.body,
            isSilent: request.isSilent ?? false,
            created: context.now
        )
        bank.state.inbox.insert(message)
        context.events.append(BackendEvent(subject: .message, id: message.id, status: "CREATED", isNew: true))
        return CloudClient.Message(message)
    }
}

extension CloudClient.Message {
    /// Creates the cloud API's form of a message.
    package init(_ message: ServerInboxMessage) {
        self.init(
            id: message.id,
            subject: message.subject,
            summary: message.summary,
            body: message.body,
            format: message.format,
            created: message.created,
            isRead: message.isRead
        )
    }
}
