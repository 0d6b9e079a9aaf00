extension MobileTokenClient {
    /// Pauses the decisions of agents for all activations of the store, in every process, until ``resumeDeciding()``. Polling and
    /// manual decisions continue.
    ///
    /// ```swift
    /// try await client.pauseDeciding(reason: "payments to CZ65 0800 look wrong")
    /// ```
    ///
    /// After the call returns, no agent signs, even in a process that has not seen the pause: the transaction that moves the
    /// counter checks it. Earlier signatures may still be in flight. A pause survives restarts.
    ///
    /// - Parameter reason: A text for people, shown in the health of agents.
    /// - Throws: The errors of the store.
    public func pauseDeciding(reason: String = "") async throws {
        let pause = DecisionPause(date: self.server.clocks.reading.wall, reason: reason)
        try await self.setDecisionPause(pause)
    }

    /// Lets agents decide again, including operations that arrived meanwhile. They notice within seconds.
    ///
    /// - Throws: The errors of ``pauseDeciding(reason:)``.
    public func resumeDeciding() async throws {
        try await self.setDecisionPause(nil)
    }

    /// The pause of agents' decisions; `nil` if there is none.
    ///
    /// - Throws: The errors of ``pauseDeciding(reason:)``.
    public var decisionPause: DecisionPause? {
        get async throws {
            try await MobileTokenError.mapStoreErrors { try await self.store.decisionPause() }
        }
    }

    private func setDecisionPause(_ pause: DecisionPause?) async throws {
        try await MobileTokenError.mapStoreErrors { try await self.store.setDecisionPause(pause) }
    }
}
