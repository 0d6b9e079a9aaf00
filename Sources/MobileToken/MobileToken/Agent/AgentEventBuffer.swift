import Basics
import Coordination

/// The unread events of a subscriber: first those of operations left to people, then new ones.
struct AgentEventBuffer: SubscriptionBuffer {
    private static let capacity = 1_000

    fileprivate struct Key: Hashable {
        let activationID: ExactString
        let operationID: ExactString
    }

    /// The current event of each operation left to people; new subscribers start with these.
    private var left: [Key: (number: UInt64, event: ApprovalAgent.Event)] = [:]
    private var lastNumber: UInt64 = 0
    private var pending: ArraySlice<ApprovalAgent.Event> = []

    mutating func append(_ event: ApprovalAgent.Event) {
        if self.pending.count >= Self.capacity { self.pending.removeFirst() }
        self.pending.append(event)
    }

    mutating func removeFirst() -> ApprovalAgent.Event? {
        if !self.left.isEmpty {
            self.pending = self.left.values.sorted { $0.number < $1.number }.map(\.event) + self.pending
            self.left = [:]
        }
        return self.pending.popFirst()
    }

    // MARK: The start of a subscription

    /// Keeps the event of an operation left to people until its next event.
    mutating func note(_ event: ApprovalAgent.Event) {
        guard let operation = event.operation else { return }
        self.forget(operation.id, of: event.activationID)
        guard case .left = event.kind else { return }
        self.lastNumber += 1
        self.left[Key(operation.id, of: event.activationID)] = (self.lastNumber, event)
    }

    /// Notes that an operation is no longer listed.
    mutating func forget(_ operationID: String, of activationID: String) {
        self.left[Key(operationID, of: activationID)] = nil
    }
}

extension AgentEventBuffer.Key {
    init(_ operationID: String, of activationID: String) {
        self.init(activationID: ExactString(activationID), operationID: ExactString(operationID))
    }
}
