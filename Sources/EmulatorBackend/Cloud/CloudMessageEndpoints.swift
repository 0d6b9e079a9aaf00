import CloudCalls
import PowerAuthProtocol

/// Inbox messages, for the bank that sends them.
enum CloudMessageEndpoints {
    static let routes: [Backend.Route] = [.cloud(CloudAPI.createMessage, adds: .message, Self.create)]

    private static func create(
        _ bank: inout Backend,
        _ request: NewCloudMessage,
        _ context: inout RequestContext
    ) -> CloudMessage {
        let message = InboxMessage(
            id: bank.state.randomness.identifier(),
            userID: request.userID,
            format: request.format ?? .text,
            subject: request.subject,
            summary: request.summary,
            body: request.body,
            isSilent: request.isSilent ?? false,
            created: context.now
        )
        bank.state.inbox.insert(message)
        context.events.append(BackendEvent(subject: .message, id: message.id, status: "CREATED", isNew: true))
        return CloudMessage(request, id: message.id, created: message.created)
    }
}
