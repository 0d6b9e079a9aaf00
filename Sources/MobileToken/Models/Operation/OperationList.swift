public import Foundation
public import PowerAuth
import PowerAuthProtocol

/// The server's response to a request for the list of operations or their history.
public struct OperationList: Sendable, Hashable {
    /// The operations that could be read, in the server's order.
    public let operations: [UserOperation]
    /// The server's time, where it sends it.
    public let currentTimestamp: Date?
    /// The parts that could not be read: whole operations that are left out, and parts of those that are there. The first 100 issues.
    public let issues: [DecodingIssue]
    /// The number of issues beyond those in ``issues``.
    public let omittedIssueCount: Int
    /// The age of the server's word when a service handed the list out, counted from the moment its request was sent; `nil`
    /// for a list that was never fetched by a service. It has no part in equality.
    public let age: Duration?

    /// The greatest number of operations in a list. A longer one is `invalidResponse`.
    public static let operationLimit = 10_000

    /// Creates a list.
    public init(
        operations: [UserOperation],
        currentTimestamp: Date? = nil,
        issues: [DecodingIssue] = [],
        omittedIssueCount: Int = 0,
        age: Duration? = nil
    ) {
        self.operations = operations
        self.currentTimestamp = currentTimestamp
        self.issues = issues
        self.omittedIssueCount = omittedIssueCount
        self.age = age
    }

    /// Returns whether both lists hold the same, whatever their age.
    public static func == (one: Self, other: Self) -> Bool {
        one.operations == other.operations && one.currentTimestamp == other.currentTimestamp
            && one.issues == other.issues && one.omittedIssueCount == other.omittedIssueCount
    }

    /// Hashes what counts for equality.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(self.operations)
        hasher.combine(self.currentTimestamp)
        hasher.combine(self.issues)
        hasher.combine(self.omittedIssueCount)
    }

    /// Returns this list at another time of the server's.
    package func at(_ currentTimestamp: Date?) -> Self {
        Self(
            operations: self.operations,
            currentTimestamp: currentTimestamp,
            issues: self.issues,
            omittedIssueCount: self.omittedIssueCount
        )
    }

    /// Reads a successful response, `{"status":"OK","responseObject":[…]}`.
    ///
    /// An operation that cannot be read, or whose identifier came before, becomes one of ``issues``; the others stand.
    ///
    /// - Throws: `invalidResponse` when the response as a whole is no such list, or holds more than ``operationLimit``
    ///   operations.
    public init(response: [UInt8]) throws(MobileTokenError) {
        try self.init(SuccessResponse(parsing: response))
    }

    /// Operations whose identifier came before are left out and reported.
    init(_ response: SuccessResponse) throws(MobileTokenError) {
        guard let list = response.responseObject, list.isArray else {
            throw .unreadableResponse("The response contains no list of operations")
        }
        guard list.elements.isCount(atMost: Self.operationLimit) else {
            throw .unreadableResponse("The response contains more than \(Self.operationLimit) operations")
        }
        var seen: Set<UserOperation.Identity> = []
        var log = IssueLog()
        self.currentTimestamp = response.root.optional("currentTimestamp", .date, &log)
        self.operations = log.inside("responseObject") { log in
            log.elements(of: list, limit: Self.operationLimit) { (view, log) throws(DecodingIssue) in
                let operation = try UserOperation(view, &log)
                guard seen.insert(operation.identity).inserted else {
                    throw log.issue(.repeated, member: "id", at: view)
                }
                return operation
            }
        }
        self.issues = log.issues
        self.omittedIssueCount = log.omittedCount
        self.age = nil
    }
}

extension UserOperation {
    /// Reads a successful response that holds one operation, `{"status":"OK","responseObject":{…}}`.
    ///
    /// - Throws: `invalidResponse`.
    public init(response: [UInt8]) throws(MobileTokenError) {
        let response = try SuccessResponse(parsing: response)
        self = try response.read("operation") { (view, log) throws(DecodingIssue) in try UserOperation(view, &log) }
    }
}

extension ChannelResponse {
    /// Creates the response to a request for the list of operations, such as in a unit test.
    public init(operations: [UserOperation]) {
        let list = operations.map { String(decoding: $0.json, as: UTF8.self) }.joined(separator: ",")
        self.init(json: #"{"status":"OK","responseObject":[\#(list)]}"#)
    }
}
