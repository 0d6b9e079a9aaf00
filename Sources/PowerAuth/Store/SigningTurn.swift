/// The right to sign with one activation, for the length of ``ActivationStore/withSigningTurn(of:_:)``.
public struct SigningTurn: Sendable {
    /// The activation whose turn it is.
    public let activationID: String
    let store: any ActivationStore
    /// The right as a journal's driver gave it; `nil` for a store of one's own.
    let turn: Turn?
    private let end: @Sendable () -> ContinuousClock.Instant?

    /// Creates a turn, for a store of your own to hand out.
    ///
    /// - Parameters:
    ///   - store: The store that ``record`` and ``update(_:)`` go to: usually the one that hands the turn out, or a view of it
    ///     that writes only as long as the turn lasts.
    ///   - notAfter: Returns when the right ends unless it is renewed, as it is known at this moment. Another process may have
    ///     the turn afterwards, so what was signed must not be sent any more. `nil` for a right that only its holder ends,
    ///     as a lock of the operating system is.
    public init(
        of activationID: String,
        in store: any ActivationStore,
        notAfter: @escaping @Sendable () -> ContinuousClock.Instant? = { nil }
    ) {
        self.activationID = activationID
        self.store = store
        self.turn = nil
        self.end = notAfter
    }

    init(of activationID: String, in journal: Journal, _ turn: Turn) {
        self.activationID = activationID
        self.store = journal
        self.turn = turn
        self.end = turn.notAfter
    }

    /// When the right ends unless it is renewed, as it is known at this moment.
    package var notAfter: ContinuousClock.Instant? { self.end() }

    /// The activation as it stands now.
    ///
    /// - Throws: `activationNotStored` when it was removed meanwhile.
    public var record: ActivationRecord {
        get async throws {
            guard let record = try await self.store.record(of: self.activationID) else {
                throw MobileTokenError.notStored()
            }
            return record
        }
    }

    /// Changes the activation, durably; see ``ActivationStore/update(_:_:)``.
    ///
    /// What signs takes its counter value here, and is sent afterwards.
    @discardableResult
    public func update<Result: Sendable>(
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        guard let turn, let journal = self.store as? Journal else {
            return try await self.store.update(self.activationID, change)
        }
        return try await journal.update(self.activationID, recording: nil, in: turn, change)
    }
}
