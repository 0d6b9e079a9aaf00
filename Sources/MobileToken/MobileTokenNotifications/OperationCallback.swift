import Basics
import ExactJSON
public import MobileToken

/// A server's callback to a bank's backend: an operation was created, or its status changed.
///
/// A callback proves nothing, because anyone who reaches the address can send one. Pass it to
/// `OperationsService.handle(_:)`, which fetches the list and relies on that only.
public struct OperationCallback: Sendable, Hashable {
    /// The operation.
    public let operationID: String
    /// The operation's owner, if the callback names one.
    public let userID: String?
    /// The operation's reported status, if the callback has one.
    public let status: UserOperation.Status?

    /// The type in callback bodies, and the one in their configuration, which some documentation uses for the body.
    private static let types: Set<ExactString> = ["OPERATION", "OPERATION_STATUS_CHANGE"]

    /// Reads the body of a callback request. Unread members may have any value.
    ///
    /// - Returns: `nil` for anything but a callback about an operation: another type, an identifier that is missing or exceeds
    ///   255 bytes, a read member that is repeated or not a string, more than 256 KiB.
    public init?(parsing json: [UInt8]) {
        let limits = JSONLimits(maximumByteCount: 256 << 10, maximumDepth: 64, maximumValueCount: 64 << 10)
        guard let root = try? JSONDocument(parsing: json, limits: limits).root,
            case .some(.some(let type)) = root.text("type"), Self.types.contains(ExactString(type)),
            case .some(.some(let id)) = root.text("operationId"), (1...255).contains(id.utf8.count),
            case .some(let userID) = root.text("userId"),
            case .some(let status) = root.text("status")
        else { return nil }
        self.operationID = id
        self.userID = userID
        self.status = status.map { UserOperation.Status(rawValue: $0) }
    }
}

extension JSONView {
    /// The string of a member: `.some(nil)` if it is absent or null, `nil` if it is repeated or has another type.
    fileprivate func text(_ name: String) -> String?? {
        switch self.member(name) {
        case .absent: .some(nil)
        case .one(let value) where value.isNull: .some(nil)
        case .one(let value): value.string.map { .some($0) }
        case .repeated: nil
        }
    }
}
