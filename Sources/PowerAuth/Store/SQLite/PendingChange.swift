/// A change of one activation that waits for the next commit.
protocol AnyPendingChange: AnyObject {
    var activationID: String { get }
    /// Set once the change is durable, or has failed.
    var outcome: Result<Void, any Error>? { get set }
    func apply(to record: inout ActivationRecord) throws
}

/// A pending change, and what it returned.
final class PendingChange<Value>: AnyPendingChange {
    let activationID: String
    var outcome: Result<Void, any Error>?
    private let change: (inout ActivationRecord) throws -> Value
    private var value: Value?

    init(of activationID: String, _ change: @escaping (inout ActivationRecord) throws -> Value) {
        self.activationID = activationID
        self.change = change
    }

    func apply(to record: inout ActivationRecord) throws {
        self.value = try self.change(&record)
    }

    /// What the change returned.
    ///
    /// - Throws: Why it was not made.
    func result() throws -> Value {
        try self.outcome?.get()
        guard let value = self.value else { throw MobileTokenError.notStored() }
        return value
    }
}
