import MobileTokenObserving
import PowerAuthCrypto
import PowerAuthProtocol

/// The durable state of an activation's counter, with all rules for changing it. The record contains the ledger, so every change
/// is on disk before it has an effect. ``CounterKnowledge`` is the process's volatile part.
package struct CounterLedger: Sendable, Equatable {
    /// The next counter value to sign with. Durably moved before anything is signed.
    package var counter: SigningCounter {
        didSet { self.history.moves += UInt64(self.counter.byte &- oldValue.byte) }
    }
    /// The moves of the counter so far. Follows ``counter`` automatically.
    package private(set) var history: CounterHistory
    /// Requires a status before the next signature: the response to a signed request is missing, or the store was restored.
    package var isUnsettled: Bool
    /// The number of signatures sent since the server was last known to have followed, saturating.
    package var unseenSignatures: UInt8
    /// Indicates that this state is irreparably older than one that has signed, so nothing may be signed. Not stored, but
    /// detected each time.
    package private(set) var isRolledBack = false
    /// Indicates that the store was restored since the last comparison with the server. Nothing may be signed before
    /// ``compare(with:)`` has skipped values that may be used. Not stored, but detected each time.
    package private(set) var wasPutBack = false

    package init(
        counter: SigningCounter,
        history: CounterHistory = CounterHistory(),
        isUnsettled: Bool = false,
        unseenSignatures: UInt8 = 0
    ) {
        self.counter = counter
        self.history = history
        self.isUnsettled = isUnsettled
        self.unseenSignatures = min(unseenSignatures, Self.mostUnseen)
    }
}

// MARK: - Taking a value

extension CounterLedger {
    /// The condition for taking a counter value while an earlier signature's outcome is unknown.
    package enum SettledRequirement: Sendable {
        case notRequired
        /// The counter was compared with the server's just now, if it had to be.
        case compared
        /// Only if the counter has not moved since the last exchange with a known outcome.
        case ifSettled(at: SigningCounter?)
    }

    package struct Reservation: Sendable, Equatable {
        /// The value to sign with. Spent in any case.
        package let value: SigningCounter
        /// The next value, which is the server's after it has accepted the signature.
        package let next: SigningCounter
        /// The number of moves including this one, which identifies the signature in receipts.
        package let moves: UInt64
        /// The number of moves that the server is not known to have followed: 1 if it followed all others.
        let unconfirmedMoves: UInt64
    }

    /// Moves the counter, and returns the value to sign with. The ledger is unsettled from now on, so that after a crash the next
    /// process fetches the status first.
    ///
    /// - Parameters:
    ///   - confirmed: The value at which the counter last equaled the server's.
    ///   - isSent: `true` if the signature is sent; `false` for an offline signature.
    /// - Returns: `nil`, without taking a value, if the ledger is unsettled against the requirement, or was put back since.
    /// - Throws: `stateRolledBack` if the next values may have been used.
    package mutating func take(
        _ requirement: SettledRequirement,
        confirmed: SigningCounter?,
        isSent: Bool = true
    ) throws(MobileTokenError) -> Reservation? {
        guard !self.isRolledBack else { throw .stateRolledBack }
        if self.wasPutBack {
            // Without the server the used values are unknown.
            if case .notRequired = requirement { throw .stateRolledBack }
            return nil
        }
        let value = self.counter
        if self.isUnsettled, case .ifSettled(let settled) = requirement, value != settled { return nil }
        if value == confirmed { self.confirm() }
        self.counter = value.next()
        self.isUnsettled = true
        if isSent { self.unseenSignatures = min(self.unseenSignatures + 1, Self.mostUnseen) }
        return Reservation(
            value: value,
            next: self.counter,
            moves: self.history.moves,
            unconfirmedMoves: self.history.unconfirmedMoves
        )
    }

    /// Records that the counters are equal: the server accepted the preceding value, or its status shows it. Not for a refused
    /// signature, which moves only the client.
    package mutating func confirm() {
        self.history.confirmedMoves = self.history.moves
        self.unseenSignatures = 0
    }
}

extension CounterLedger {
    /// The highest count of lost signatures; exceeds any server's window.
    private static let mostUnseen: UInt8 = 127
}

// MARK: - A state that was put back

extension CounterLedger {
    /// The largest number of values that ``catchUp(to:)`` skips: some tenths of a second's work.
    package static let longestCatchUp: UInt64 = 100_000

    /// Moves the counter of a restored state forward to its former position, so that no value is reused.
    ///
    /// - Parameter highWaterMark: A count of moves that was once committed. All earlier values may be used, even offline.
    package mutating func catchUp(to highWaterMark: UInt64) {
        guard self.history.moves < highWaterMark else { return }
        self.isUnsettled = true
        guard highWaterMark - self.history.moves <= Self.longestCatchUp else {
            self.isRolledBack = true
            return
        }
        while self.history.moves < highWaterMark { self.counter = self.counter.next() }
    }
}

// MARK: - Another counter

extension CounterLedger {
    /// Returns the ledger with a new counter from the server. The count of moves continues.
    func restarted(with counter: SigningCounter) -> Self {
        let moves = self.history.moves
        return Self(counter: counter, history: CounterHistory(moves: moves, confirmedMoves: moves))
    }

    /// Returns the ledger of a former counter, caught up with a later ledger's moves, and put back if that was.
    func caughtUp(with later: Self) -> Self {
        var ledger = self
        ledger.catchUp(to: later.history.moves)
        if later.wasPutBack { ledger.notePutBack() }
        return ledger
    }
}

extension CounterLedger {
    /// The number of values after the server's that are skipped after a restore: half of the usual window. Offline and lost
    /// signatures may have used them.
    package static let putBackAllowance = 10

    /// Records that the store was restored to this state since the last comparison.
    package mutating func notePutBack() {
        self.wasPutBack = true
        self.isUnsettled = true
    }

    /// Skips values that may have been used before the restore, without leaving the server's window. Counted from the server's
    /// counter, because a state ahead of it has already skipped some. Otherwise repeated restores would leave the window.
    ///
    /// - Returns: The number of additional steps. If the counter was moved to the server's, the distance found is the length of
    ///   that move.
    private mutating func passOverUsedValues(
        after rule: CounterSynchronization<SigningCounter>,
        _ result: CounterComparison.Result
    ) -> Int {
        guard self.wasPutBack, result != .deadlock, result != .rolledBack else { return 0 }
        let count = max(0, min(Self.putBackAllowance, rule.window - 1) - max(0, rule.distance))
        for _ in 0..<count { self.counter = self.counter.next() }
        self.wasPutBack = false
        if case .movedForward = result { return 0 }
        return count
    }
}

// MARK: - Comparing with the server

extension CounterLedger {
    /// Compares the counter with the server's, and applies repairs that need no signature. An irreparable result leaves the
    /// ledger unsettled, so that every signature compares again instead of being made in vain.
    mutating func compare(with server: ReportedCounter) throws(CryptoError) -> CounterComparison {
        let rule = try server.synchronization(of: self.counter)
        let result: CounterComparison.Result
        switch rule.outcome {
        case .inSync:
            result = .inSync
        case .signatureRecommended:
            result = .signatureRecommended
        case .deadlock:
            // A byte that contradicts the hash proves nothing about the past.
            let isRolledBack =
                !rule.isContradictory
                && self.history.isRolledBack(localByte: self.counter.byte, serverByte: server.byte)
            result = isRolledBack ? .rolledBack : .deadlock
            self.isUnsettled = true
        case .movedForward(let steps, let counter):
            result = .movedForward(steps)
            self.counter = counter
            self.confirm()
        }
        return CounterComparison(
            result: result,
            distance: rule.distance + self.passOverUsedValues(after: rule, result),
            window: rule.window
        )
    }
}

extension ReportedCounter {
    fileprivate func synchronization(
        of counter: SigningCounter
    ) throws(CryptoError) -> CounterSynchronization<SigningCounter> {
        try CounterSynchronization(
            client: counter,
            serverByte: self.byte,
            serverHash: self.hash,
            lookAhead: self.lookAhead,
            key: self.key
        )
    }
}

/// The moves of a counter since activation, stored with it. The counter itself only reveals its position modulo 256. The full
/// count, with the part that the server followed, distinguishes lost responses from an old backup: the server cannot lag by more
/// than the unconfirmed signatures.
package struct CounterHistory: Sendable, Equatable {
    /// All moves since activation. Never decreases.
    package fileprivate(set) var moves: UInt64
    /// The value of ``moves`` when the counters were last known to be equal.
    package fileprivate(set) var confirmedMoves: UInt64

    package init(moves: UInt64 = 0, confirmedMoves: UInt64 = 0) {
        self.moves = moves
        self.confirmedMoves = confirmedMoves
    }

    /// The number of moves that the server may not have followed.
    package var unconfirmedMoves: UInt64 { self.moves - min(self.moves, self.confirmedMoves) }

    /// Returns whether the server's counter proves that this state is older than one that has signed. Call it if synchronization
    /// found the counters too far apart. It distinguishes `stateRolledBack` from a server that lost its state. Moves are durable
    /// before signatures are sent, so the server is only ahead of a restored state.
    ///
    /// - Parameters:
    ///   - localByte: The client's counter byte.
    ///   - serverByte: The counter byte in the server's status.
    package func isRolledBack(localByte: UInt8, serverByte: UInt8) -> Bool {
        let serverAhead = serverByte &- localByte
        guard serverAhead != 0 else { return false }
        // If the server lags instead, unconfirmed moves must cover the distance.
        let serverBehind = UInt64(localByte &- serverByte)
        return serverAhead < 128 || serverBehind > self.unconfirmedMoves
    }
}

// MARK: - What only this process knows

/// A process's knowledge about a counter from responses, beyond the durable ``CounterLedger``. Kept in memory only: clearing the
/// ledger's unsettled mark after each response would cost a second durable write per signature. After a restart one status
/// request settles it.
struct CounterKnowledge: Sendable, Equatable {
    /// The counter after the last exchange with a known outcome: the server followed, or its status showed a small enough
    /// distance.
    private(set) var settled: SigningCounter?
    /// The counter when it last equaled the server's.
    private(set) var confirmed: SigningCounter?
    /// The counter after the latest signature.
    private(set) var reserved: SigningCounter?

    /// Indicates that the ledger may be unsettled: this process has not signed yet, or the outcome is unknown.
    var mayBeUnsettled: Bool { self.settled == nil || self.settled != self.reserved }

    /// Records that a signature consumed a value.
    mutating func signed(with reservation: CounterLedger.Reservation) {
        self.reserved = reservation.next
    }

    /// Records that the server accepted a signature.
    mutating func accepted(_ reservation: CounterLedger.Reservation) {
        self.settled = reservation.next
        self.confirmed = reservation.next
    }

    /// Discards the knowledge: the activation is gone, or no signature can be accepted.
    mutating func forget() {
        self.settled = nil
    }

    enum NextStep: Sendable, Equatable {
        case sign
        /// Make an extra signature, because the client is more than half the window ahead.
        case letServerCatchUp
    }

    /// Records a comparison, and returns the next step.
    ///
    /// - Parameter counter: The counter after the comparison.
    /// - Throws: `deadlock` or `stateRolledBack` if no signature can be accepted.
    mutating func apply(_ comparison: CounterComparison, counter: SigningCounter)
        throws(MobileTokenError) -> NextStep
    {
        switch comparison.result {
        case .inSync, .movedForward:
            // Confirmed by the server; the next value is within the window.
            self.settled = counter
            if comparison.distance == 0 { self.confirmed = counter }
            return .sign
        case .signatureRecommended:
            return .letServerCatchUp
        case .deadlock:
            throw MobileTokenError(.deadlock, "The counters of client and server are too far apart")
        case .rolledBack:
            throw .stateRolledBack
        }
    }

    /// Returns whether a signature was refused because of its counter value, so that another one may be accepted.
    ///
    /// - Parameters:
    ///   - comparison: The comparison after the refusal.
    ///   - counter: The counter after the comparison.
    ///   - clearsFailedAttempts: `true` if an accepted signature of this type clears the failed attempts.
    ///   - failedAttempts: The failed attempts after the refusal.
    func explainsRefusal(
        _ comparison: CounterComparison,
        counter: SigningCounter,
        clearsFailedAttempts: Bool,
        failedAttempts: Int
    ) -> Bool {
        // No other task takes a value within the turn. So if the counter has moved since the signature, a status moved it
        // forward.
        if counter != self.reserved { return true }
        // With equal counters, the server is one step after the refused value. Either it was a step ahead, or it accepted the
        // signature and then refused the request, which would have cleared the failed attempts of two factors.
        return comparison.distance == 0 && (!clearsFailedAttempts || failedAttempts > 0)
    }
}

extension MobileTokenError {
    static var stateRolledBack: Self {
        Self(.stateRolledBack, "The store was restored from a backup that is too old")
    }
    static var restoredSinceStatus: Self {
        Self(.storeBusy, "The store was restored since the status: try again")
    }
}
