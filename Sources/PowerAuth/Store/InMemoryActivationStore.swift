import Coordination
import Synchronization

/// Keeps activations in memory: for tests, and for programs that activate anew at every start.
public final class InMemoryActivationStore: ActivationStore {
    private struct State {
        var records: [String: ActivationRecord] = [:]
        var order: [String] = []
    }

    private let state = Mutex(State())
    /// The order of signatures.
    let gate = Gate()

    /// Creates an empty store.
    public init() {}

    /// The identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] {
        self.state.withLock { $0.order }
    }

    /// One activation as it stands now, or `nil`.
    public func record(of activationID: String) async throws -> ActivationRecord? {
        self.state.withLock { $0.records[activationID] }
    }

    /// Adds an activation, or throws `activationAlreadyStored`.
    public func insert(_ record: ActivationRecord) async throws {
        try self.state.withLock { state in
            guard state.records[record.activationID] == nil else { throw MobileTokenError.alreadyStored() }
            state.records[record.activationID] = record
            state.order.append(record.activationID)
        }
    }

    /// Reads, changes and writes one activation in a single step; see ``ActivationStore/update(_:_:)``.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try self.state.withLock { state in
            guard var record = state.records[activationID] else { throw MobileTokenError.notStored() }
            let result = try change(&record)
            state.records[activationID] = record
            return result
        }
    }

    /// Forgets an activation with its tokens and factors.
    public func remove(_ activationID: String) async throws {
        self.state.withLock { state in
            guard state.records.removeValue(forKey: activationID) != nil else { return }
            state.order.removeAll { $0 == activationID }
        }
    }

    /// Runs `body` when it is its turn to sign; see ``ActivationStore/withSigningTurn(of:_:)``.
    public func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        guard self.state.withLock({ $0.records[activationID] != nil }) else { throw MobileTokenError.notStored() }
        try await self.gate.enter(activationID)
        defer { self.gate.leave(activationID) }
        return try await body(SigningTurn(of: activationID, in: self))
    }
}
