/// Keeps activations, so that no counter value is ever used twice and nothing is lost in a crash.
///
/// Every method is durable when it returns: what it wrote survives `kill -9` and power loss.
///
/// ``SQLiteActivationStore`` is the default. A store of your own keeps what ``Sealing`` makes of a record, and shows with
/// `ActivationStoreConformance` of `MobileTokenTesting` that it does all that is asked here.
public protocol ActivationStore: Sendable {
    /// Opens the store if need be, and shows that an activation could be inserted now.
    ///
    /// Called before an activation code is used up. Writing something durably and taking it back is the surest way; the
    /// default implementation reads the list of activations.
    ///
    /// - Throws: what ``insert(_:)`` would throw: the store is closed, damaged, full, may not be written, or has another key.
    func prove() async throws

    /// The identifiers of all activations held, oldest first.
    func activationIDs() async throws -> [String]

    /// One activation as it stands now, or `nil`.
    func record(of activationID: String) async throws -> ActivationRecord?

    /// Adds an activation.
    ///
    /// - Throws: when one of that identifier is held already; nothing is overwritten.
    func insert(_ record: ActivationRecord) async throws

    /// Reads, changes and writes one activation as a single step that no other task or process can interleave with.
    ///
    /// When `change` throws, nothing is written. `change` must not keep the record.
    ///
    /// - Throws: what `change` throws, or when there is no such activation, or when writing fails.
    @discardableResult
    func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result

    /// Forgets an activation with its tokens and factors. Does nothing when there is none.
    func remove(_ activationID: String) async throws

    /// Waits for the right to sign with an activation, which one holder at a time has, across processes.
    ///
    /// Holders follow each other in order of arrival within one process. Released by ``SigningLease/release()``, or when
    /// the lease's last owner goes; a process that dies loses what it held.
    ///
    /// - Throws: `CancellationError` when the task is cancelled while it waits, or when there is no such activation.
    func acquireSigningLease(of activationID: String) async throws -> any SigningLease
}

extension ActivationStore {
    /// Reads the list of activations.
    public func prove() async throws {
        _ = try await self.activationIDs()
    }
}

/// The right to sign with one activation.
public protocol SigningLease: Sendable {
    /// Gives the right back. Calling it again does nothing.
    func release() async
}
