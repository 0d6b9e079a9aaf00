import Basics
package import ExactJSON
import MobileTokenCloud

/// A push message for one device.
package struct PushMessage: Sendable, Equatable {
    /// The subject of a push message, with the Mobile Token server's names.
    package enum Kind: String, Sendable, CaseIterable {
        case operationInit = "mtoken.operationInit"
        case operationFinished = "mtoken.operationFinished"
        case inboxMessage = "mtoken.inboxMessage.new"
        case statusChange = "mtoken.statusChange"
        /// A bank's own message: its payload has no `messageType`, unless the bank adds one.
        case message
    }

    package let kind: Kind
    package let activationID: String
    package let userID: String
    package let platform: String
    package let token: String
    package let environment: String?
    package let payload: JSONValue
}

extension Backend {
    func pushMessages(of operation: ServerOperation, _ event: BackendEvent) -> [PushMessage] {
        guard operation.isSilent != true, !self.state.devices.isEmpty, let userID = operation.userID else { return [] }
        let kind: PushMessage.Kind
        var payload: JSONObject = [
            "operationId": .string(operation.id), "operationName": .string(operation.type),
        ]
        if operation.status == .pending {
            guard event.isNew else { return [] }
            kind = .operationInit
            let formData = self.formData(of: operation, in: operation.language)
            payload["aps"] = .alert(title: formData?["title"]?.string, body: formData?["message"]?.string)
        } else {
            kind = .operationFinished
            payload["mtokenOperationResult"] = .string(operation.status.pushResult)
        }
        return self.devices(ofUser: userID) { operation.isVisible(to: $0) }.map { device in
            var payload = payload
            payload["activationId"] = .string(device.activationID)
            return device.message(kind, userID, payload)
        }
    }

    func pushMessages(of message: ServerInboxMessage, _ event: BackendEvent) -> [PushMessage] {
        guard event.isNew, !message.isSilent else { return [] }
        let payload: JSONObject = [
            "inboxId": .string(message.id), "aps": .alert(title: message.subject, body: message.summary),
        ]
        return self.devices(ofUser: message.userID) { _ in true }
            .map { $0.message(.inboxMessage, message.userID, payload) }
    }

    /// Returns the push devices of a user.
    func devices(ofUser userID: String, where isIncluded: (ServerActivation) -> Bool) -> [PushDevice] {
        let devices = self.state.devices.values.filter { device in
            guard let activation = self.state.activations[device.activationID] else { return false }
            return activation.status == .active && activation.userID.isExactly(userID) && isIncluded(activation)
        }
        return devices.sorted { $0.activationID < $1.activationID }
    }
}

extension PushDevice {
    func message(_ kind: PushMessage.Kind, _ userID: String, _ content: JSONObject) -> PushMessage {
        let type = kind == .message ? [] : [JSONObject.Member(key: "messageType", value: .string(kind.rawValue))]
        return PushMessage(
            kind: kind,
            activationID: self.activationID,
            userID: userID,
            platform: self.platform,
            token: self.token,
            environment: self.environment,
            payload: .object(JSONObject(type + content.members))
        )
    }
}

extension JSONValue {
    fileprivate static func alert(title: String?, body: String?) -> Self {
        ["alert": ["title": .string(title ?? ""), "body": .string(body ?? "")]]
    }
}

extension ServerOperation.Status {
    /// The result of an operation, with the names in push messages.
    fileprivate var pushResult: String {
        switch self {
        case .approved: "authentication.success"
        case .expired: "operation.timeout"
        case .canceled, .rejected: "operation.canceled"
        case .failed, .pending: "authentication.fail"
        }
    }
}
