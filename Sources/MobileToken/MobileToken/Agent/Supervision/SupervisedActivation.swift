import Basics
import PowerAuthClient

/// One activation's operations in an agent, processed one at a time.
struct SupervisedActivation: Sendable {
    private let activationID: String
    /// The operations, in no order. An array is read in its place, where a dictionary would copy each one that is looked at.
    private var operations: [SupervisedOperation] = []
    /// The identifier of each of ``operations``.
    private var ids: [ExactString] = []
    /// The index of each identifier.
    private var places: [ExactString: Int] = [:]
    /// The operation in progress.
    var work: ExactString?
    /// Indicates whether decisions are on hold, such as while the activation is blocked.
    var isHeld = false
    /// Indicates whether another process decides for it, and resolves decisions made here.
    var isReleased = false
    /// The stop until the next check: the factors are wrong, or the activation has ended.
    var stop: Stop?
    /// Indicates whether it is in the queue.
    var isInLine = false

    struct Stop: Sendable {
        let reason: MobileTokenError
        /// The time of the next check; `nil` during one.
        var nextLook: Duration?
    }

    init(_ activationID: String) {
        self.activationID = activationID
    }

    subscript(id: ExactString) -> SupervisedOperation? {
        get { self.places[id].map { self.operations[$0] } }
        set {
            guard let newValue else { return self.remove(id) }
            if let place = self.places[id] {
                self.operations[place] = newValue
            } else {
                self.places[id] = self.operations.count
                self.ids.append(id)
                self.operations.append(newValue)
            }
        }
    }

    private mutating func remove(_ id: ExactString) {
        guard let place = self.places.removeValue(forKey: id) else { return }
        let (operation, last) = (self.operations.removeLast(), self.ids.removeLast())
        guard place < self.operations.count else { return }
        (self.operations[place], self.ids[place], self.places[last]) = (operation, last, place)
    }

    /// Indicates whether it holds no state worth keeping.
    var isEmpty: Bool { self.operations.isEmpty && !self.isHeld && self.stop == nil }

    func add(to counts: inout AgentSupervision.Counts) {
        for place in self.operations.indices {
            if self.operations[place].isOpen { counts.open += 1 }
            if self.operations[place].isLeft { counts.left += 1 }
        }
        if let place = self.work.flatMap({ self.places[$0] }), self.operations[place].isDeciding {
            counts.deciding += 1
        }
    }

    /// The next operation to work on; `nil` if there is none, or one is in progress.
    func next(isPaused: Bool) -> ExactString? {
        guard self.work == nil else { return nil }
        var (holdsActivation, oldest): (Bool, Int?) = (false, nil)
        for place in self.operations.indices {
            // Finding out signs nothing, so it is never held back.
            if self.operations[place].isReadyToResolve { return self.ids[place] }
            if self.operations[place].holdsActivation { holdsActivation = true }
            guard self.operations[place].isReady,
                oldest.map({ self.operations[place].comes(before: self.operations[$0]) }) ?? true
            else { continue }
            oldest = place
        }
        return isPaused || self.isHeld || self.stop != nil || holdsActivation ? nil : oldest.map { self.ids[$0] }
    }

    /// These operations wait for a decision, and no others but perhaps some that cannot be read any more.
    mutating func list(
        _ operations: [UserOperation],
        unreadable: Set<ExactString>,
        at now: Duration
    ) -> [AgentSupervision.Action] {
        var listed = Set<ExactString>(minimumCapacity: operations.count)
        for (position, operation) in operations.enumerated() {
            let id = ExactString(operation.id)
            listed.insert(id)
            if let place = self.places[id] {
                self.operations[place].list(operation, position: position)
            } else {
                let review = OperationReview(of: operation, activationID: self.activationID)
                self[id] = SupervisedOperation(review, position: position)
            }
        }
        return self.unlist(at: now) {
            listed.contains($0) ? nil : unreadable.contains($0) ? .unreadable : .gone
        }
    }

    /// None of its operations is looked after here any more.
    mutating func forget(at now: Duration) -> [AgentSupervision.Action] { self.unlist(at: now) { _ in .forgotten } }

    private mutating func unlist(
        at now: Duration,
        _ listing: (ExactString) -> SupervisedOperation.Listing?
    ) -> [AgentSupervision.Action] {
        var actions: [AgentSupervision.Action] = []
        for (place, id) in self.ids.enumerated().reversed() {
            guard let listing = listing(id) else { continue }
            actions += self.operations[place].unlist(listing)
            self.operations[place].adoptUndetermined(at: now)
            if self.operations[place].isForgettable { self.remove(id) }
        }
        return actions
    }
}

extension SupervisedOperation {
    enum Listing: Sendable {
        case listed
        /// Listed in a form that cannot be read: it is not gone.
        case unreadable
        /// Listed no more.
        case gone
        /// The activation is not looked after here any more.
        case forgotten
    }
}
