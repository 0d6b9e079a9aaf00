public import PowerAuthProtocol

/// A push message of the Mobile Token server.
///
/// It is a hint to look at the server, not proof of anything.
public enum PushPayload: Sendable, Hashable {
    /// An operation waits for a decision.
    case operationCreated(id: String, name: String, content: Content?)
    /// An operation came to its end.
    case operationFinished(id: String, name: String, result: OperationResult)
    /// A message arrived in the inbox.
    case inboxMessageReceived(id: String)
    /// The status of an activation changed: it was blocked, unblocked or removed, say.
    case activationStatusChanged(activationID: String)

    /// What the notification shows.
    public struct Content: Sendable, Hashable {
        /// The title.
        public let title: String
        /// The message.
        public let message: String

        /// Creates content.
        public init(title: String, message: String) {
            self.title = title
            self.message = message
        }
    }

    /// How an operation ended.
    public enum OperationResult: Sendable, Hashable {
        /// It was authorized.
        case success
        /// An authorization failed.
        case failure
        /// It was not decided in time.
        case timeout
        /// It was cancelled.
        case canceled
        /// There was no way to authorize it.
        case methodNotAvailable
        /// A result that this version does not know, as it was sent.
        case unknown(String)

        /// The result of the server's text, which is compared exactly.
        public init(_ text: String) {
            switch text {
            case "authentication.success": self = .success
            case "authentication.fail": self = .failure
            case "operation.timeout": self = .timeout
            case "operation.canceled": self = .canceled
            case "operation.methodNotAvailable": self = .methodNotAvailable
            default: self = .unknown(text)
            }
        }
    }

    /// Reads a payload; nil when it is none of this server's.
    public init?(userInfo: [String: JSONValue]) {
        func text(_ name: String) -> String? { userInfo[name]?.string }
        func identifier(_ name: String) -> String? { text(name).flatMap { $0.isEmpty ? nil : $0 } }

        switch text("messageType") {
        case "mtoken.operationInit":
            guard let id = identifier("operationId"), let name = text("operationName") else { return nil }
            self = .operationCreated(id: id, name: name, content: Content(alert: userInfo["aps"]?["alert"]))
        case "mtoken.operationFinished":
            guard let id = identifier("operationId"), let name = text("operationName"),
                let result = text("mtokenOperationResult")
            else { return nil }
            self = .operationFinished(id: id, name: name, result: OperationResult(result))
        case "mtoken.inboxMessage.new":
            guard let id = identifier("inboxId") else { return nil }
            self = .inboxMessageReceived(id: id)
        case "mtoken.statusChange":
            guard let id = identifier("activationId") else { return nil }
            self = .activationStatusChanged(activationID: id)
        default:
            return nil
        }
    }

    /// Reads a payload from JSON; nil when it is none of this server's, or names a member twice.
    public init?(json: [UInt8]) {
        guard let object = (try? JSONValue(parsing: json))?.object, object.duplicateKeys.isEmpty else { return nil }
        self.init(userInfo: Dictionary(uniqueKeysWithValues: object.members.map { ($0.key, $0.value) }))
    }
}

extension PushPayload.Content {
    /// Both title and message, or nothing.
    fileprivate init?(alert: JSONValue?) {
        guard let title = alert?["title"]?.string, let message = alert?["body"]?.string else { return nil }
        self.init(title: title, message: message)
    }
}
