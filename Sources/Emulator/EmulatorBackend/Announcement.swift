import ExactJSON
import MobileTokenCloud

/// An event with its outgoing messages.
package struct Announcement: Sendable {
    package let event: BackendEvent
    /// The messages to the bank.
    package fileprivate(set) var callbacks: [CallbackMessage] = []
    /// The push messages, for the user's registered devices that may see the change.
    package fileprivate(set) var pushes: [PushMessage] = []
}

extension Backend {
    /// Returns the messages of an event in the current state, which may change later.
    package func announcement(of event: BackendEvent) -> Announcement {
        var announcement = Announcement(event: event)
        guard event.isTold else { return announcement }
        switch event.subject {
        case .operation:
            guard let operation = self.state.operations[event.id] else { break }
            lazy var content = operation.callbackContent
            announcement.callbacks = self.callbackMessages(
                .operation,
                operation.applicationID,
                of: event.id,
                telling: content
            )
            if let url = operation.callbackURL {
                let body = Callback.body(content, Callback.Kind.operation.attributes)
                announcement.callbacks.append(CallbackMessage(objectID: event.id, url: url, body: body))
            }
            announcement.pushes = self.pushMessages(of: operation, event)
        case .activation:
            guard let activation = self.state.activations[event.id] else { break }
            announcement.callbacks = self.callbackMessages(
                .activation,
                activation.applicationID,
                of: event.id,
                telling: activation.callbackContent
            )
            guard let device = self.state.devices[event.id] ?? event.lastDevice else { break }
            let payload: JSONObject = ["activationId": .string(activation.id)]
            announcement.pushes = [device.message(.statusChange, activation.userID, payload)]
        case .message:
            announcement.pushes = self.state.inbox[event.id].map { self.pushMessages(of: $0, event) } ?? []
        case .device: break
        }
        return announcement
    }
}
