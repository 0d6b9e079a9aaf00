import PowerAuthCrypto
import PowerAuthProtocol

/// The durable truth about an activation's counter, and every rule by which it changes.
///
/// A record holds the ledger, so that whatever changes it is on the disk before it has an effect. What only this process
/// knows is in ``CounterKnowledge``.
package struct CounterLedger: Sendable, Equatable {
    /// The next counter value to sign with. Moved, durably, before anything is signed.
    package var counter: SigningCounter {
        didSet { self.history.moves += UInt64(self.counter.byte &- oldValue.byte) }
    }
    /// The moves of the counter so far. Follows ``counter`` by itself.
    package private(set) var history: CounterHistory
    /// Demands that the server's counter is asked for before the next signature: the response to a signed request is not
    /// known, or the store noticed that it holds an older state than it once did.
    package var isUnsettled: Bool
    /// Indicates that this state is so much older than one that has signed that it cannot be made up for.
    /// Not kept: the store finds it out each time. Nothing may be signed from such a state.
    package private(set) var isRolledBack = false
    /// Indicates that the store was put back since this state was last compared with the server's. Not kept: the store finds it out
    /// each time. Nothing may be signed before ``compare(with:)`` has passed over what may have been used.
    package private(set) var wasPutBack = false

    package init(counter: SigningCounter, history: CounterHistory = CounterHistory(), isUnsettled: Bool = false) {
        self.counter = counter
        self.history = history
        self.isUnsettled = isUnsettled
    }
}

// MARK: - Taking a value

extension CounterLedger {
    /// The condition for taking a counter value while the fate of an earlier signature is not known.
    package enum SettledRequirement: Sendable {
        case notRequired
        /// Only when the counter still stands where the last exchange left it, with a known end.
        case ifSettled(at: SigningCounter?)
    }

    /// A counter value that belongs to one signature.
    package struct Reservation: Sendable, Equatable {
        /// The value to sign with. Spent, whatever happens to the signature.
        package let value: SigningCounter
        /// The value after it, where the server's counter stands once it has accepted the signature.
        package let next: SigningCounter
        /// The counter's moves as this one left them, by which receipts know the signature.
        package let moves: UInt64
        /// The number of these moves that the server is not known to have followed: 1 when it had followed all before this one.
        let unconfirmedMoves: UInt64
    }

    /// Moves the counter, and returns the value to sign with.
    ///
    /// The ledger is unsettled from now on: should this process die, the next one asks for the status first.
    ///
    /// - Parameter confirmed: The value at which the counter was last known to equal the server's.
    /// - Returns: `nil`, and no value is taken, when the ledger is unsettled against the requirement.
    /// - Throws: `stateRolledBack` when the values from here on may have been used.
    package mutating func take(
        _ requirement: SettledRequirement,
        confirmed: SigningCounter?
    ) throws(MobileTokenError) -> Reservation? {
        guard !self.isRolledBack else { throw .stateRolledBack }
        if self.wasPutBack {
            // Without the server nobody knows which values are used up.
            guard case .ifSettled = requirement else { throw .stateRolledBack }
            return nil
        }
        let value = self.counter
        if self.isUnsettled, case .ifSettled(let settled) = requirement, value != settled { return nil }
        if value == confirmed { self.confirm() }
        self.counter = value.next()
        self.isUnsettled = true
        return Reservation(
            value: value,
            next: self.counter,
            moves: self.history.moves,
            unconfirmedMoves: self.history.unconfirmedMoves
        )
    }

    /// Notes that the server's counter equals ours now: it accepted a signature made with the value before this one, or
    /// its status says so. Not for a refused signature, which moves only our side.
    package mutating func confirm() {
        self.history.confirmedMoves = self.history.moves
    }
}

// MARK: - A state that was put back

extension CounterLedger {
    /// The most counter values that ``catchUp(to:)`` passes over: some tenths of a second's work.
    package static let longestCatchUp: UInt64 = 100_000

    /// Moves the counter of a state that was put back to where it had come before, so that no value is used again.
    ///
    /// - Parameter highWaterMark: A count of moves that was once committed. Every value before it may have signed
    ///   something, offline too, where no server could tell.
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
    /// Returns the ledger with a new counter that the server has handed out. The count of moves goes on.
    func restarted(with counter: SigningCounter) -> Self {
        let moves = self.history.moves
        return Self(counter: counter, history: CounterHistory(moves: moves, confirmedMoves: moves))
    }

    /// Returns the ledger of a counter that was left for another one, which has moved since.
    func caughtUp(to moves: UInt64) -> Self {
        var ledger = self
        ledger.catchUp(to: moves)
        return ledger
    }
}

extension CounterLedger {
    /// The number of values beyond the server's that are passed over once a state that was put back has been compared: half of the
    /// server's usual window. The server cannot know those that were signed offline, or never arrived.
    package static let putBackAllowance = 10

    /// Notes that the store was put back to this state, by a restore or otherwise, at some time since the last comparison.
    package mutating func notePutBack() {
        self.wasPutBack = true
        self.isUnsettled = true
    }

    /// Passes over values that may have been used before the store was put back, without leaving the server's window.
    ///
    /// Counted from the server's counter: a state that is ahead of it has passed some over. A store that is put back again and
    /// again would otherwise leave the window step by step.
    ///
    /// - Returns: The number of steps by which the distance is greater than the one that was found. Where the counter
    ///   was moved to the server's, the one that was found is the length of that move.
    private mutating func passOverUsedValues(
        after rule: CounterSynchronization<SigningCounter>,
        _ result: ActivationStatus.CounterComparison.Result
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
    /// Compares the counter with what the server reported, and does at once what can be done without a signature.
    ///
    /// When nothing can be repaired, the ledger is unsettled from then on, so that every signature asks again rather than
    /// being made in vain.
    mutating func compare(with server: ReportedCounter) throws(CryptoError) -> ActivationStatus.CounterComparison {
        let rule = try server.synchronization(of: self.counter)
        let result: ActivationStatus.CounterComparison.Result
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
        return ActivationStatus.CounterComparison(
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

/// The moves of a counter since the activation was made, kept with the counter itself.
///
/// The counter proper tells its place modulo 256 only. The whole count, and the part of it that the server is known to
/// have followed, tell a client that lost responses from a store that was restored from an old backup: the server cannot
/// be further behind than the signatures it has not confirmed.
package struct CounterHistory: Sendable, Equatable {
    /// Every move of the counter since activation. Never goes down.
    package fileprivate(set) var moves: UInt64
    /// The value of ``moves`` when the server's counter was last known to equal ours.
    package fileprivate(set) var confirmedMoves: UInt64

    package init(moves: UInt64 = 0, confirmedMoves: UInt64 = 0) {
        self.moves = moves
        self.confirmedMoves = confirmedMoves
    }

    /// Moves that the server may not have followed.
    package var unconfirmedMoves: UInt64 { self.moves - min(self.moves, self.confirmedMoves) }

    /// Returns whether the server's counter proves that this state is older than one that has signed already.
    ///
    /// Ask when synchronization found the counters too far apart to repair; the result is the difference between
    /// `stateRolledBack` and a server that lost track. Every move is durable before its signature leaves, so the
    /// server is never ahead of a state that was not rolled back.
    ///
    /// - Parameters:
    ///   - localByte: This side's counter byte.
    ///   - serverByte: The counter byte of the server's status.
    package func isRolledBack(localByte: UInt8, serverByte: UInt8) -> Bool {
        let serverAhead = serverByte &- localByte
        guard serverAhead != 0 else { return false }
        // Read as a server that lags, the distance must be covered by moves it has not confirmed.
        let serverBehind = UInt64(localByte &- serverByte)
        return serverAhead < 128 || serverBehind > self.unconfirmedMoves
    }
}

// MARK: - What only this process knows

/// The knowledge of one process about a counter from the server's responses, beyond the durable ``CounterLedger``.
///
/// Kept in memory only: the ledger says "unsettled" from the moment a counter value is taken, and clearing that after each
/// response would cost a second durable write for every signature. After a restart one status request settles it.
struct CounterKnowledge: Sendable, Equatable {
    /// The counter as the last exchange left it, when its end is known: the server followed, or its status showed that the
    /// counters are close enough.
    private(set) var settled: SigningCounter?
    /// The counter where it was last known to equal the server's.
    private(set) var confirmed: SigningCounter?
    /// The counter as the latest signature left it.
    private(set) var reserved: SigningCounter?

    /// Indicates that the ledger is unsettled, as far as this process knows: it has not signed yet, or not heard how that ended.
    var mayBeUnsettled: Bool { self.settled == nil || self.settled != self.reserved }

    /// Notes that a signature has used up a value.
    mutating func signed(with reservation: CounterLedger.Reservation) {
        self.reserved = reservation.next
    }

    /// Notes that the server accepted the signature made with a value.
    mutating func accepted(_ reservation: CounterLedger.Reservation) {
        self.settled = reservation.next
        self.confirmed = reservation.next
    }

    /// Notes that nothing is known any more: the activation is gone, or no signature can be accepted.
    mutating func forget() {
        self.settled = nil
    }

    /// The step that a comparison asks for before the next signature.
    enum NextStep: Sendable, Equatable {
        case sign
        /// A signature that serves nothing else, because this side is more than half the window ahead.
        case letServerCatchUp
    }

    /// Notes a comparison, and returns what follows from it.
    ///
    /// - Parameter counter: The counter as the comparison left it.
    /// - Throws: `deadlock` or `stateRolledBack` when no signature can be accepted.
    mutating func apply(_ comparison: ActivationStatus.CounterComparison, counter: SigningCounter)
        throws(MobileTokenError) -> NextStep
    {
        switch comparison.result {
        case .inSync, .movedForward:
            // Known by the server's own word; whatever is sent next is within the window.
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
    ///   - comparison: The comparison made after the refusal.
    ///   - counter: The counter as the comparison left it.
    ///   - clearsFailedAttempts: `true` if an accepted signature of the refused one's type clears the failed attempts.
    ///   - failedAttempts: The failed attempts after the refusal.
    func explainsRefusal(
        _ comparison: ActivationStatus.CounterComparison,
        counter: SigningCounter,
        clearsFailedAttempts: Bool,
        failedAttempts: Int
    ) -> Bool {
        // Within a turn no other task takes a counter value. So when the counter is not where the refused signature left
        // it, a status moved it forward: this one, or another that was asked for meanwhile.
        if counter != self.reserved { return true }
        // Equal counters mean that the server stands one step after the refused value. Either it was one step ahead, or it
        // accepted the signature and then refused the request; that would have cleared the failed attempts of two factors.
        return comparison.distance == 0 && (!clearsFailedAttempts || failedAttempts > 0)
    }
}

extension MobileTokenError {
    static var stateRolledBack: Self {
        Self(.stateRolledBack, "The store was restored from a backup that is too old")
    }
}
