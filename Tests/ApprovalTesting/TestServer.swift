import ExactJSON
import Foundation
package import MobileTokenApprovals
public import MobileTokenCloud
package import MobileTokenTesting
import Synchronization

/// A server that does what a test wants of it, lies included. It fills templates by rules of its own.
package final class TestServer: ApprovalServer {
    package struct Decision {
        package var status: CloudClient.OperationStatus = .approved
        package var after: Int64 = 0
        package var reason: String?
        package var registration = "device-1"
        package var factors = "possession_knowledge"
        /// The device's own signature of what it approves.
        package var signature: (@Sendable (ApprovalOperation) -> String?)?

        package init(
            status: CloudClient.OperationStatus = .approved,
            after: Int64 = 0,
            reason: String? = nil,
            registration: String = "device-1",
            factors: String = "possession_knowledge"
        ) {
            self.status = status
            self.after = after
            self.reason = reason
            self.registration = registration
            self.factors = factors
        }
    }

    package struct Lie {
        package var changes: @Sendable (inout ApprovalOperation) -> Void
        package init(changes: @escaping @Sendable (inout ApprovalOperation) -> Void) { self.changes = changes }
    }

    package struct State {
        package var operations: [ApprovalOperation] = []
        package var registrations: [String: ApprovingRegistration] = [:]
        /// The decisions of people, by user id.
        package var script: [String: Decision] = [:]
        /// The form of the data at the server, by template, where it is not the pinned one.
        package var forms: [String: String] = [:]
        package var creations: [NewApprovalOperation] = []
        package var shows: [String] = []
        package var cancellations: [String] = []
        package var offlineCodes = 0
        /// As the server's template has it, which may escape no end of a line.
        package var offlineTitle = "title"
        package var offlineOneTimeCode: String?
        /// Failures of the next creations; with `true` the operation is made all the same.
        package var creationFailures: [(ServerFailure, isMade: Bool)] = []
        package var showFailures: [ServerFailure] = []
        package var cancelFailures: [ServerFailure] = []
        package var isDocumentedOnly = false
        package var sendsDates = true
        /// The lead of the server's clock, in milliseconds.
        package var skew: Int64 = 0
        package var lie: Lie?
        /// Beside the binding: parameters that the server's template does not name.
        package var dropped: Set<String> = []
        package var beforeShow: (@Sendable (TestServer) async -> Void)?
        package var beforeCreate: (@Sendable (TestServer, NewApprovalOperation) async -> Void)?
        /// The times at which requests arrived, in milliseconds.
        package var arrivals: [Int64] = []
    }

    package static let start: Int64 = 1_800_000_000_000
    package let clock: ManualClock
    private let begin: ManualClock.Instant
    private let state = Mutex(State())

    package init(_ clock: ManualClock) {
        self.clock = clock
        self.begin = clock.now
    }

    package var elapsed: Int64 {
        let (seconds, attoseconds) = self.begin.duration(to: self.clock.now).components
        return seconds * 1_000 + attoseconds / 1_000_000_000_000_000
    }

    package func with<Result: Sendable>(_ body: (inout State) throws -> sending Result) rethrows -> sending Result {
        try self.state.withLock { try body(&$0) }
    }

    package var operations: [ApprovalOperation] { self.with { $0.operations } }

    /// Changes an operation of the server.
    package func update(_ index: Int = 0, _ change: (inout ApprovalOperation) -> Void) {
        self.with { change(&$0.operations[index]) }
    }

    private var now: Int64 { Self.start + self.elapsed + self.with { $0.skew } }

    package var timeout: Duration { .seconds(20) }

    private func dated<Value>(_ value: Value) -> Dated<Value> {
        Dated(value, date: self.with { $0.sendsDates } ? self.now / 1_000 * 1_000 : nil)
    }

    package static func unanswered(lost: Bool) -> ServerFailure {
        ServerFailure(.unanswered(isOutcomeUnknown: lost), code: "connectionLost", message: "no answer")
    }

    private func noteArrival() {
        let elapsed = self.elapsed
        self.with { $0.arrivals.append(elapsed) }
    }

    package func time() async throws(ServerFailure) -> Int64? {
        self.noteArrival()
        return self.dated(()).date
    }

    package func create(_ new: NewApprovalOperation) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        self.noteArrival()
        let now = self.now
        if let before = self.with({ $0.beforeCreate }) { await before(self, new) }
        let (failure, isMade) = self.with { state -> (ServerFailure?, Bool) in
            state.creations.append(new)
            guard !state.creationFailures.isEmpty else { return (nil, true) }
            let (failure, isMade) = state.creationFailures.removeFirst()
            return (failure, isMade)
        }
        guard isMade else { throw failure ?? Self.unanswered(lost: false) }
        let operation = self.with { state -> ApprovalOperation in
            let form = state.forms[new.template.name] ?? new.template.signs
            let operation = ApprovalOperation(
                id: "op-\(state.operations.count + 1)",
                userID: new.userID,
                status: "PENDING",
                operationType: new.template.operationType ?? new.template.name,
                parameters: new.parameters.filter { !state.dropped.contains($0.key) }.mapValues { .string($0) },
                created: now,
                expires: new.expires,
                data: Self.fill(form, new.parameters)
            )
            state.operations.append(operation)
            return operation
        }
        if let failure { throw failure }
        return self.dated(self.shown(operation))
    }

    /// By splitting, where the desk scans: two ways to one result.
    private static func fill(_ form: String, _ parameters: [String: String]) -> String {
        let pieces = form.components(separatedBy: "${")
        return pieces.dropFirst().reduce(pieces[0]) { filled, piece in
            let parts = piece.components(separatedBy: "}")
            let value = (parameters[parts[0]] ?? "").replacingOccurrences(of: "\\", with: "\\\\")
                .replacingOccurrences(of: "*", with: "\\*")
            return filled + value + parts.dropFirst().joined(separator: "}")
        }
    }

    private func shown(_ operation: ApprovalOperation) -> ApprovalOperation {
        var operation = operation
        let (isDocumentedOnly, lie) = self.with { ($0.isDocumentedOnly, $0.lie) }
        lie?.changes(&operation)
        if isDocumentedOnly {
            operation.data = nil
            operation.additionalData = nil
            operation.finalized = nil
            operation.reason = nil
        }
        return operation
    }

    package func show(operation id: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        self.noteArrival()
        if let before = self.with({ $0.beforeShow }) { await before(self) }
        let failure = self.with { state -> ServerFailure? in
            state.shows.append(id)
            return state.showFailures.isEmpty ? nil : state.showFailures.removeFirst()
        }
        if let failure { throw failure }
        self.decide()
        guard let operation = self.operations.first(where: { $0.id == id }) else {
            throw ServerFailure(.notFound, code: "ERROR_OPERATION_NOT_FOUND", message: "none")
        }
        return self.dated(self.shown(operation))
    }

    /// Lets everybody decide whose moment has come.
    private func decide() {
        let now = self.now
        self.with { state in
            for index in state.operations.indices where state.operations[index].status == "PENDING" {
                let operation = state.operations[index]
                let decision = state.script[operation.userID ?? ""]
                if let decision, operation.created + decision.after <= now,
                    operation.created + decision.after < operation.expires
                {
                    state.operations[index].status = decision.status
                    state.operations[index].finalized = operation.created + decision.after
                    var data: JSONObject = [
                        "activationId": .string(decision.registration), "authFactor": .string(decision.factors),
                    ]
                    if let signature = decision.signature?(operation) {
                        data["mobileTokenData"] = ["deviceSignature": .string(signature)]
                    }
                    state.operations[index].additionalData = .object(data)
                    state.operations[index].reason = decision.reason
                } else if operation.expires <= now {
                    state.operations[index].status = "EXPIRED"
                    state.operations[index].finalized = operation.expires
                }
            }
        }
    }

    package func cancel(operation id: String, reason: String) async throws(ServerFailure) -> Dated<ApprovalOperation> {
        self.noteArrival()
        let failure = self.with { state -> ServerFailure? in
            state.cancellations.append(id)
            return state.cancelFailures.isEmpty ? nil : state.cancelFailures.removeFirst()
        }
        if let failure { throw failure }
        self.decide()
        let now = self.now
        let canceled = self.with { state -> ApprovalOperation? in
            guard let index = state.operations.firstIndex(where: { $0.id == id }),
                state.operations[index].status == "PENDING"
            else { return nil }
            state.operations[index].status = "CANCELED"
            state.operations[index].finalized = now
            return state.operations[index]
        }
        guard let canceled else {
            throw ServerFailure(.notPending, code: "ERROR_OPERATION_STATE_CHANGE", message: "over")
        }
        return self.dated(self.shown(canceled))
    }

    package func show(registration id: String) async throws(ServerFailure) -> Dated<ApprovingRegistration> {
        self.noteArrival()
        guard let registration = self.with({ $0.registrations[id] }) else {
            throw ServerFailure(.notFound, code: "ERROR_REGISTRATION_NOT_FOUND", message: "none")
        }
        return self.dated(registration)
    }

    package func offlineCode(ofOperation id: String, registration: String) async throws(ServerFailure) -> Dated<String>
    {
        self.noteArrival()
        self.with { $0.offlineCodes += 1 }
        guard let operation = self.operations.first(where: { $0.id == id }), operation.status == "PENDING" else {
            throw ServerFailure(.notPending, code: "ERROR_OPERATION_STATE_CHANGE", message: "over")
        }
        let (title, code) = self.with { ($0.offlineTitle, $0.offlineOneTimeCode) }
        let parameters = operation.parameters.compactMapValues(\.string)
        let lines =
            [id, Self.fill(title, parameters), "message", operation.data ?? "", "BX"] + [code].compactMap(\.self)
            + ["bm9uY2U=", "0c2ln"]
        return self.dated(lines.joined(separator: "\n"))
    }
}

/// Tests say the server's words as they are.
extension CloudClient.OperationStatus: ExpressibleByStringLiteral {
    /// Creates a status from the server's word.
    public init(stringLiteral word: String) { self.init(rawValue: word) }
}
