import EmulatorBackend
import ExactJSON
public import Foundation

extension Emulator {
    /// A push message that a real server would have sent to a device.
    public struct PushSummary: Sendable, Codable, Hashable, Identifiable {
        /// The message's number, from 1.
        public var id: UInt64
        /// The subject: `mtoken.operationInit`, `mtoken.operationFinished`, `mtoken.inboxMessage.new` or `mtoken.statusChange`;
        /// `message` for one that the bank sent directly.
        public var type: String
        /// The activation of the device.
        public var activationID: String
        /// The user of the device.
        public var userID: String
        /// The registered platform: `apns`, `fcm` or `hms`.
        public var platform: String
        /// The registered token.
        public var token: String
        /// The registered environment, if any.
        public var environment: String?
        /// The JSON payload for the device.
        public var payload: String
        /// The time of creation.
        public var created: Date
    }
}

extension Emulator.PushSummary {
    init(_ message: PushMessage, id: UInt64, at time: Date) {
        self.id = id
        self.type = message.kind.rawValue
        self.activationID = message.activationID
        self.userID = message.userID
        self.platform = message.platform
        self.token = message.token
        self.environment = message.environment
        self.payload = String(decoding: message.payload.serialized(), as: UTF8.self)
        self.created = time
    }
}

extension PushMessage {
    /// The message for the address that replaces the platforms.
    func delivery(to url: String) -> CallbackMessage {
        var body: JSONObject = [
            "type": "PUSH", "activationId": .string(self.activationID), "userId": .string(self.userID),
            "platform": .string(self.platform), "token": .string(self.token),
        ]
        body["environment"] = self.environment.map { .string($0) }
        body["payload"] = self.payload
        return CallbackMessage(url: url, body: JSONValue.object(body).serialized())
    }
}
