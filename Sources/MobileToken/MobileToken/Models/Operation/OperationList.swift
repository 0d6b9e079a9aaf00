public import Foundation
public import PowerAuth
import Basics
import ExactJSON
package import MobileTokenErrors

/// The server's response to a request for pending operations or for the history.
public struct OperationList: Sendable, Equatable {
    /// The readable operations, in the server's order.
    public let operations: [UserOperation]
    /// The server's time, if the response has it.
    public let currentTimestamp: Date?
    /// The first 100 unreadable operations, which are left out of `operations` but may still wait for a decision.
    public let unreadable: [Unreadable]
    /// The first 100 decoding issues: operations left out, and unreadable parts of others.
    public let issues: [DecodingIssue]
    /// The number of issues beyond those in ``issues``.
    package let omittedIssueCount: Int
    /// The list's age when the service returned it, counted from sending its request; `nil` if no service fetched it.
    /// Ignored by `==`.
    public let age: Duration?

    /// The maximum number of operations in a list; a longer one is `invalidResponse`.
    package static let operationLimit = 10_000

    /// Creates a list.
    package init(
        operations: [UserOperation],
        currentTimestamp: Date? = nil,
        unreadable: [Unreadable] = [],
        issues: [DecodingIssue] = [],
        omittedIssueCount: Int = 0,
        age: Duration? = nil
    ) {
        self.operations = operations
        self.currentTimestamp = currentTimestamp
        self.unreadable = unreadable
        self.issues = issues
        self.omittedIssueCount = omittedIssueCount
        self.age = age
    }

    /// Returns whether both lists have the same content, whatever their age.
    public static func == (one: Self, other: Self) -> Bool {
        one.operations == other.operations && one.currentTimestamp == other.currentTimestamp
            && one.issues == other.issues && one.omittedIssueCount == other.omittedIssueCount
    }

    /// Returns this list with another server time.
    package func at(_ currentTimestamp: Date?) -> Self {
        Self(
            operations: self.operations,
            currentTimestamp: currentTimestamp,
            unreadable: self.unreadable,
            issues: self.issues,
            omittedIssueCount: self.omittedIssueCount
        )
    }

    /// Reads a successful response, `{"status":"OK","responseObject":[…]}`.
    ///
    /// An operation that cannot be read goes to ``unreadable`` and ``issues``; the others stand. If an operation occurs twice,
    /// the first stands if both are the same, and otherwise neither.
    ///
    /// - Throws: `invalidResponse` if the response is no such list, or holds more than 10 000 operations.
    package init(response: [UInt8]) throws(MobileTokenError) {
        try self.init(SuccessResponse(parsing: response))
    }

    init(_ response: SuccessResponse) throws(MobileTokenError) {
        guard let list = response.responseObject, list.isArray else {
            throw .unreadableResponse("The response contains no list of operations")
        }
        guard list.elements.isCount(atMost: Self.operationLimit) else {
            throw .unreadableResponse("The response contains more than \(Self.operationLimit) operations")
        }
        var reader = OperationReader()
        var log = IssueLog()
        self.currentTimestamp = response.root.optional("currentTimestamp", .date, &log)
        let operations = log.inside("responseObject") { log in
            log.elements(of: list, limit: Self.operationLimit) { (view, log) throws(DecodingIssue) in
                try reader.read(view, &log)
            }
        }
        self.operations = reader.leavingOutConflicts(in: operations, &log)
        self.unreadable = reader.unreadable
        self.issues = log.issues
        self.omittedIssueCount = log.omittedCount
        self.age = nil
    }
}

extension OperationList {
    /// An unreadable operation of the list, and the reason.
    public struct Unreadable: Sendable, Hashable, CustomStringConvertible {
        /// The operation's identifier, if readable.
        public let id: String?
        /// The part that could not be read.
        public let issue: DecodingIssue

        /// Creates an unreadable operation, for tests.
        package init(id: String?, issue: DecodingIssue) {
            self.id = id
            self.issue = issue
        }

        /// The identifier, the place and the reason, on one line.
        public var description: String {
            "\(self.id.map { DisplayText.escaped($0, limit: 64) } ?? "an operation without an identifier"): \(self.issue)"
        }
    }
}

/// Reads the operations of a list, and collects the unreadable ones.
private struct OperationReader {
    private(set) var unreadable: [OperationList.Unreadable] = []
    private var read: [UserOperation.Identity: (operation: UserOperation, index: Int)] = [:]
    private var index = -1
    private var unreadableIDs: Set<ExactString> = []

    mutating func read(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) -> UserOperation? {
        self.index += 1
        do throws(DecodingIssue) {
            let operation = try UserOperation(view, &log)
            guard let first = self.read[operation.identity] else {
                self.read[operation.identity] = (operation, self.index)
                return operation
            }
            let issue = log.issue(.repeated, member: "id", at: view)
            guard first.operation == operation else { throw issue }
            log.report(issue)
            return nil
        } catch {
            self.leaveOut(view["id"]?.string, error)
            throw error
        }
    }

    private mutating func leaveOut(_ id: String?, _ issue: DecodingIssue) {
        if let id { self.unreadableIDs.insert(ExactString(id)) }
        if self.unreadable.count < IssueLog.capacity { self.unreadable.append(.init(id: id, issue: issue)) }
    }

    /// Leaves out operations that occur twice with different content, because neither is known to be right.
    mutating func leavingOutConflicts(in operations: [UserOperation], _ log: inout IssueLog) -> [UserOperation] {
        guard !self.unreadableIDs.isEmpty else { return operations }
        return operations.filter { operation in
            guard self.unreadableIDs.contains(ExactString(operation.id)) else { return true }
            let index = self.read[operation.identity]?.index ?? 0
            let issue = DecodingIssue(path: "responseObject[\(index)].id", reason: .repeated, json: operation.json)
            log.report(issue)
            self.leaveOut(operation.id, issue)
            return false
        }
    }
}

extension UserOperation {
    /// Reads a successful response with one operation, `{"status":"OK","responseObject":{…}}`.
    ///
    /// - Throws: `invalidResponse`.
    package init(response: [UInt8]) throws(MobileTokenError) {
        let response = try SuccessResponse(parsing: response)
        self = try response.read("operation") { (view, log) throws(DecodingIssue) in try UserOperation(view, &log) }
    }
}

extension ChannelResponse {
    /// Creates the response to a list request, such as for a unit test.
    public init(operations: [UserOperation]) {
        let list = operations.map { String(decoding: $0.json, as: UTF8.self) }.joined(separator: ",")
        self.init(json: #"{"status":"OK","responseObject":[\#(list)]}"#)
    }
}
