import CloudCalls
import ExactJSON

/// An event, and the messages that go out for it.
package struct Announcement: Sendable {
    package let event: BackendEvent
    /// Those to the bank.
    package fileprivate(set) var callbacks: [CallbackMessage] = []
    /// Those that a push server would send: to the devices of the user that are registered and may see what has changed.
    package fileprivate(set) var pushes: [PushMessage] = []
}

extension Backend {
    /// Returns what is to be told of an event, in the words of the state as it is now; later it may be another.
    package func announcement(of event: BackendEvent) -> Announcement {
        var announcement = Announcement(event: event)
        guard event.isTold else { return announcement }
        switch event.subject {
        case .operation:
            guard let operation = self.state.operations[event.id] else { break }
            lazy var content = operation.callbackContent
            announcement.callbacks = self.callbackMessages(.operation, operation.applicationID, telling: content)
            if let url = operation.callbackURL {
                let body = Callback.body(content, Callback.Kind.operation.attributes)
                announcement.callbacks.append(CallbackMessage(url: url, body: body))
            }
            announcement.pushes = self.pushMessages(of: operation, event)
        case .activation:
            guard let activation = self.state.activations[event.id] else { break }
            announcement.callbacks = self.callbackMessages(
                .activation,
                activation.applicationID,
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
