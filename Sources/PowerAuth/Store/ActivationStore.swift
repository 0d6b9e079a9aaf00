public import PowerAuthProtocol

/// A store of activations, in which no counter value is ever used twice and nothing is lost in a crash.
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

    /// Shows that every process which shares the store now could read an activation of a version of the protocol.
    ///
    /// Called before an activation code is used up. The default implementation knows of no other processes.
    ///
    /// - Throws: `storeHasOlderNodes`.
    func checkReaders(of version: ProtocolVersion) async throws

    /// Returns the identifiers of all activations held, oldest first.
    func activationIDs() async throws -> [String]

    /// Returns one activation as it stands now, or `nil`.
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

    /// Returns whether an activation is being upgraded, by whichever process: its ``ActivationRecord/isUpgrading``. `false` when
    /// there is no such activation.
    ///
    /// When ``update(_:_:)`` has returned that began an upgrade, every process that shares the store gets `true`. Asked before
    /// every request with a token. The default implementation reads the record; a store that processes share had
    /// better ask for less.
    func isUpgrading(_ activationID: String) async throws -> Bool

    /// Forgets an activation with its tokens and factors. Does nothing when there is none.
    func remove(_ activationID: String) async throws

    /// Waits for the right to sign with an activation, and runs `body` with it.
    ///
    /// One turn of an activation runs at a time, across processes. Turns follow each other in order of arrival within one
    /// process, and no process is passed over forever. A turn ends when `body` returns or throws; a process that dies loses
    /// its turn. Other calls pass beside turns, and `body` may make any of them but this one.
    ///
    /// ```swift
    /// let taken = try await store.withSigningTurn(of: "a") { turn in
    ///     let signature = try await turn.update { record in … }  // durable before anything is sent
    ///     …
    /// }
    /// ```
    ///
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws, `CancellationError` when the task is canceled while it waits, and `activationNotStored`
    ///   when there is no such activation.
    func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result
}

extension ActivationStore {
    /// Reads the list of activations.
    public func prove() async throws {
        _ = try await self.activationIDs()
    }

    /// Does nothing.
    public func checkReaders(of version: ProtocolVersion) async throws {}

    /// Reads the record.
    public func isUpgrading(_ activationID: String) async throws -> Bool {
        try await self.record(of: activationID)?.isUpgrading ?? false
    }
}
