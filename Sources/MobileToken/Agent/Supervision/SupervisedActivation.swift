import Basics
import PowerAuth

/// The operations of one activation that an agent works on, one at a time.
struct SupervisedActivation: Sendable {
    private let activationID: String
    private var entries: [ExactString: SupervisedOperation] = [:]
    /// The operation that is worked on.
    var work: ExactString?
    /// Indicates whether nothing may be decided for now, such as while the activation is blocked.
    var isHeld = false
    /// Indicates whether another process decides for it, and finds out what became of decisions that were made here.
    var isReleased = false
    /// The reason nothing is decided until it is looked at again: its factors are wrong, or it has ended.
    var stop: Stop?
    /// Indicates whether it waits for its turn.
    var isInLine = false

    struct Stop: Sendable {
        let reason: MobileTokenError
        /// The time when it is looked at again; `nil` while it is.
        var nextLook: Duration?
    }

    init(_ activationID: String) {
        self.activationID = activationID
    }

    subscript(id: ExactString) -> SupervisedOperation? {
        get { self.entries[id] }
        set { self.entries[id] = newValue }
    }

    /// Indicates whether nothing is known of it that would be missed.
    var isEmpty: Bool { self.entries.isEmpty && !self.isHeld && self.stop == nil }

    /// The number of operations that have something to do, now or later.
    var openCount: Int { self.entries.values.count(where: \.isOpen) }
    /// The number of operations that are left to people.
    var leftCount: Int { self.entries.values.count(where: \.isLeft) }

    /// The operation to work on now; `nil` when there is none, or one is worked on.
    func next(isPaused: Bool) -> ExactString? {
        guard self.work == nil else { return nil }
        // Finding out signs nothing, so it is never held back.
        if let lost = self.entries.first(where: { $0.value.isReadyToResolve }) { return lost.key }
        guard !isPaused, !self.isHeld, self.stop == nil,
            !self.entries.values.contains(where: \.holdsActivation)
        else { return nil }
        return self.entries.filter(\.value.isReady).min { $0.value.comes(before: $1.value) }?.key
    }

    /// These operations wait for a decision, and no others.
    mutating func list(_ operations: [UserOperation]) -> [AgentSupervision.Action] {
        var listed: Set<ExactString> = []
        for (position, operation) in operations.enumerated() {
            let id = ExactString(operation.id)
            listed.insert(id)
            if self.entries[id] != nil {
                self.entries[id]?.list(operation, position: position)
            } else {
                let review = OperationReview(of: operation, activationID: self.activationID)
                self.entries[id] = SupervisedOperation(review, position: position)
            }
        }
        var actions: [AgentSupervision.Action] = []
        for id in self.entries.keys where !listed.contains(id) {
            actions += self.entries[id]?.unlist() ?? []
            if self.entries[id]?.isForgettable == true { self.entries[id] = nil }
        }
        return actions
    }
}
