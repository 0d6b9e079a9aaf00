import MobileToken
import MobileTokenNotifications

let types: [Any.Type] = [
    InboxService.self, InboxService.Messages.self, InboxService.Messages.Iterator.self, InboxService.Page.self,
    InboxMessage.self, InboxMessage.ContentType.self, PushService.self, PushService.Platform.self,
    PushService.Environment.self, PushService.Registration.self, OperationCallback.self, PushPayload.self,
    PushPayload.Content.self, PushPayload.OperationResult.self,
]

func wake(_ operations: OperationsService, by body: [UInt8]) {
    if let callback = OperationCallback(parsing: body) { operations.handle(callback) }
    if let push = PushPayload(parsing: body) { operations.handle(push) }
}

func services(of activation: Activation, _ client: MobileTokenClient) -> (InboxService, PushService) {
    (client.makeInboxService(for: activation), client.makePushService(for: activation))
}
