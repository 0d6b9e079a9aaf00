/// How far a counter has come since the activation was made, kept with the counter itself.
///
/// The counter proper tells its place modulo 256 only. The whole count, and the part of it that the server is known to
/// have followed, tell a client that lost answers from a store that was restored from an old backup: the server cannot
/// be further behind than the signatures it has not confirmed.
package struct CounterHistory: Sendable, Equatable {
    /// Every move of the counter since activation. Never goes down.
    package internal(set) var moves: UInt64
    /// The value of ``moves`` when the server's counter was last known to equal ours.
    package internal(set) var confirmedMoves: UInt64

    package init(moves: UInt64 = 0, confirmedMoves: UInt64 = 0) {
        self.moves = moves
        self.confirmedMoves = confirmedMoves
    }

    /// Moves that the server may not have followed.
    package var unconfirmedMoves: UInt64 { self.moves - min(self.moves, self.confirmedMoves) }

    /// Whether the server's counter proves that this state is older than one that has signed already.
    ///
    /// Ask when synchronisation found the counters too far apart to repair; the answer is the difference between
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
