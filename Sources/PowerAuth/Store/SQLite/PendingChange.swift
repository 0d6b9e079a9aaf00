/// What waits for the next commit.
protocol PendingWrite: AnyObject {
    /// Set once it is durable, or has failed.
    var outcome: Result<Void, any Error>? { get set }
}

/// A change of one activation that waits for the next commit.
protocol AnyPendingChange: PendingWrite {
    var activationID: String { get }
    /// What is decided by the signature that the change takes a counter value for.
    var intent: DecisionIntent? { get }
    func apply(to record: inout ActivationRecord) throws
}

/// A pending change, and what it returned.
final class PendingChange<Value>: AnyPendingChange {
    let activationID: String
    let intent: DecisionIntent?
    var outcome: Result<Void, any Error>?
    private let change: (inout ActivationRecord) throws -> Value
    private var value: Value?

    init(
        of activationID: String,
        recording intent: DecisionIntent?,
        _ change: @escaping (inout ActivationRecord) throws -> Value
    ) {
        self.activationID = activationID
        self.intent = intent
        self.change = change
    }

    func apply(to record: inout ActivationRecord) throws {
        self.value = try self.change(&record)
    }

    /// Returns what the change returned.
    ///
    /// - Throws: Why it was not made.
    func result() throws -> Value {
        try self.outcome?.get()
        guard let value = self.value else { throw MobileTokenError.notStored() }
        return value
    }
}

/// What became of a decision, waiting for the next commit.
final class PendingDecisionOutcome: PendingWrite {
    let activationID: String
    let moves: UInt64
    let decisionOutcome: DecisionOutcome
    var outcome: Result<Void, any Error>?

    init(_ decisionOutcome: DecisionOutcome, ofMove moves: UInt64, of activationID: String) {
        self.decisionOutcome = decisionOutcome
        self.moves = moves
        self.activationID = activationID
    }
}
