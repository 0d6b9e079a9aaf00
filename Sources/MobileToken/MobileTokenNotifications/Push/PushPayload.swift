import Basics
public import ExactJSON

/// A push message of the Mobile Token server.
///
/// It is a hint to ask the server, and no proof of anything.
public enum PushPayload: Sendable, Hashable {
    /// An operation waits for a decision.
    case operationCreated(id: String, name: String, content: Content?)
    /// An operation ended.
    case operationFinished(id: String, name: String, result: OperationResult)
    /// A message arrived in the inbox.
    case inboxMessageReceived(id: String)
    /// The status of an activation changed, for example to blocked or removed.
    case activationStatusChanged(activationID: String)

    /// The visible part of the notification.
    public struct Content: Sendable, Hashable {
        /// The title.
        public let title: String
        /// The message.
        public let message: String

        /// Creates content.
        package init(title: String, message: String) {
            self.title = title
            self.message = message
        }
    }

    /// The outcome of an operation.
    public enum OperationResult: Sendable, Hashable {
        /// It was authorized.
        case success
        /// An authorization failed.
        case failure
        /// It was not decided in time.
        case timeout
        /// It was canceled.
        case canceled
        /// No method was available to authorize it.
        case methodNotAvailable
        /// A result unknown to this version, as the server sent it.
        case unknown(String)

        /// Creates the result from the server's string, compared exactly.
        package init(_ text: String) {
            switch ExactString(text) {
            case "authentication.success": self = .success
            case "authentication.fail": self = .failure
            case "operation.timeout": self = .timeout
            case "operation.canceled": self = .canceled
            case "operation.methodNotAvailable": self = .methodNotAvailable
            default: self = .unknown(text)
            }
        }
    }

    /// Reads a payload from a notification's members; `nil` in the cases of ``init(parsing:)``.
    public init?(userInfo: [String: JSONValue]) {
        let members = userInfo.map { JSONObject.Member(key: $0.key, value: $0.value) }
        self.init(parsing: JSONValue.object(JSONObject(members)).serialized())
    }

    /// Reads the JSON of a payload. Unread members may have any value.
    ///
    /// An app receives messages from many senders, so any other message gives `nil` instead of an error. So does a repeated
    /// member that is read.
    public init?(parsing json: [UInt8]) {
        guard let root = try? JSONDocument(parsing: json).root, root.isObject,
            let payload = try? Self(PushMembers(view: root))
        else { return nil }
        self = payload
    }

    private init?(_ payload: PushMembers) throws(RepeatedMember) {
        switch try payload.text("messageType").map({ ExactString($0) }) {
        case "mtoken.operationInit":
            guard let id = try payload.identifier("operationId"), let name = try payload.text("operationName") else {
                return nil
            }
            let alert = try payload.members("aps")?.members("alert")
            self = .operationCreated(id: id, name: name, content: try alert.flatMap(Content.init))
        case "mtoken.operationFinished":
            guard let id = try payload.identifier("operationId"), let name = try payload.text("operationName"),
                let result = try payload.text("mtokenOperationResult")
            else { return nil }
            self = .operationFinished(id: id, name: name, result: OperationResult(result))
        case "mtoken.inboxMessage.new":
            guard let id = try payload.identifier("inboxId") else { return nil }
            self = .inboxMessageReceived(id: id)
        case "mtoken.statusChange":
            guard let id = try payload.identifier("activationId") else { return nil }
            self = .activationStatusChanged(activationID: id)
        default:
            return nil
        }
    }
}

extension PushPayload.Content {
    /// Reads both title and message, or neither.
    fileprivate init?(_ alert: PushMembers) throws(RepeatedMember) {
        let (title, message) = (try alert.text("title"), try alert.text("body"))
        guard let title, let message else { return nil }
        self.init(title: title, message: message)
    }
}

/// A member that is read is repeated, so its meaning would depend on the reader.
private struct RepeatedMember: Error {}

private struct PushMembers {
    let view: JSONView

    private func member(_ name: String) throws(RepeatedMember) -> JSONView? {
        switch self.view.member(name) {
        case .absent: return nil
        case .one(let value): return value
        case .repeated: throw RepeatedMember()
        }
    }

    func text(_ name: String) throws(RepeatedMember) -> String? { try self.member(name)?.string }

    /// Returns a nonempty string.
    func identifier(_ name: String) throws(RepeatedMember) -> String? {
        guard let text = try self.text(name), !text.isEmpty else { return nil }
        return text
    }

    func members(_ name: String) throws(RepeatedMember) -> PushMembers? {
        try self.member(name).map { PushMembers(view: $0) }
    }
}
