import Basics
import ExactJSON

/// The callback with which a server tells a bank's backend that an operation was made or its status has changed.
///
/// It is a hint to look at the server, not proof of anything: anybody who reaches the address can send one. Whoever gets it
/// hands it to ``OperationsService/handle(_:)-(OperationCallback)``, which fetches the list, and decides by that alone.
public struct OperationCallback: Sendable, Hashable {
    /// The operation.
    public let operationID: String
    /// The user it belongs to, where that is told.
    public let userID: String?
    /// The status it is said to have, where that is told.
    public let status: UserOperation.Status?

    /// The word in the bodies of callbacks, and the one in their configuration, which some documentation has for it.
    private static let types: Set<ExactString> = ["OPERATION", "OPERATION_STATUS_CHANGE"]

    /// Reads the body of a callback request. Members that are not read may be anything.
    ///
    /// - Returns: `nil` for what is no callback about an operation: another type, no identifier or one of more than 255 bytes, a
    ///   member that is read and is given twice or is no string, more than 256 KiB.
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
    /// The string of a member: `.some(nil)` when it is absent or null, `nil` when it is anything else or given twice.
    fileprivate func text(_ name: String) -> String?? {
        switch self.member(name) {
        case .absent: .some(nil)
        case .one(let value) where value.isNull: .some(nil)
        case .one(let value): value.string.map { .some($0) }
        case .repeated: nil
        }
    }
}
