import Basics
import Coordination

/// What an ``ApprovalAgent`` does and finds out, for one reader each time it is iterated.
///
/// A reader begins with the operations that are left to people now, oldest first, so that none is missed by who comes late; then
/// events come in the order they happen. A reader that leaves more than ``capacity`` unread loses the oldest; what must not be lost
/// is in the receipts. The sequence ends with the agent's run, or when the reading task is canceled.
public struct AgentEvents: AsyncSequence, Sendable {
    /// What one step of the iteration gives.
    public typealias Element = ApprovalAgent.Event

    /// How many events wait for a slow reader.
    public static let capacity = 1_000

    let broadcast: Broadcast<AgentEventBuffer>

    /// Begins a subscription of its own.
    public func makeAsyncIterator() -> Iterator {
        Iterator(subscription: self.broadcast.subscribe())
    }

    /// One subscription; letting it go ends it.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let subscription: Subscription<AgentEventBuffer>

        /// Waits for the next event.
        public mutating func next() async -> ApprovalAgent.Event? {
            await self.subscription.next()
        }
    }
}

/// The events that a subscriber has not seen yet: first of what is left to people, then what is new.
struct AgentEventBuffer: SubscriptionBuffer {
    fileprivate struct Key: Hashable {
        let activationID: ExactString
        let operationID: ExactString
    }

    /// What new subscribers start with.
    private var left: [Key: (number: UInt64, event: ApprovalAgent.Event)] = [:]
    private var lastNumber: UInt64 = 0
    private var pending: ArraySlice<ApprovalAgent.Event> = []

    mutating func append(_ event: ApprovalAgent.Event) {
        if self.pending.count >= AgentEvents.capacity { self.pending.removeFirst() }
        self.pending.append(event)
    }

    mutating func removeFirst() -> ApprovalAgent.Event? {
        if !self.left.isEmpty {
            self.pending = self.left.values.sorted { $0.number < $1.number }.map(\.event) + self.pending
            self.left = [:]
        }
        return self.pending.popFirst()
    }

    // MARK: What new subscribers start with

    /// Takes in whether an event's operation is left now.
    mutating func note(_ event: ApprovalAgent.Event) {
        guard let operation = event.operation else { return }
        self.forget(operation.id, of: event.activationID)
        guard case .left = event.kind else { return }
        self.lastNumber += 1
        self.left[Key(operation.id, of: event.activationID)] = (self.lastNumber, event)
    }

    /// Takes in that an operation is not listed any more.
    mutating func forget(_ operationID: String, of activationID: String) {
        self.left[Key(operationID, of: activationID)] = nil
    }
}

extension AgentEventBuffer.Key {
    init(_ operationID: String, of activationID: String) {
        self.init(activationID: ExactString(activationID), operationID: ExactString(operationID))
    }
}

extension ApprovalAgent {
    /// Waits until an operation is left to people.
    ///
    /// ```swift
    /// let reason = await agent.leaveReason(of: operation.id)  // at once when it is left already
    /// ```
    ///
    /// - Returns: Why it was left; `nil` when it was decided or is over instead, and when the run ends or the task is canceled.
    public nonisolated func leaveReason(of operationID: String) async -> LeaveReason? {
        for await event in self.events() where event.operation?.id.isExactly(operationID) == true {
            switch event.kind {
            case .left(let reason): return reason
            case .decided, .refused, .unknown, .finishedElsewhere, .gone: return nil
            case .judged, .retrying, .unanswered, .stopped, .resumed, .stateChanged: continue
            }
        }
        return nil
    }
}
