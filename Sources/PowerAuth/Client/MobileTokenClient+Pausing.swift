import Foundation

extension MobileTokenClient {
    /// Stops what agents decide with all activations of the client's store, in every process that shares it, until
    /// ``resumeDeciding()``. Polling goes on, and so do decisions by hand.
    ///
    /// ```swift
    /// try await client.pauseDeciding(reason: "payments to CZ65 0800 look wrong")
    /// ```
    ///
    /// When it returns, nothing more is signed by an agent, whether or not its process has noticed: the pause is looked for in
    /// the step that moves the counter. What was signed before is on its way. A pause survives restarts.
    ///
    /// - Parameter reason: For people; shown in the health of agents.
    /// - Throws: The errors of the store.
    public func pauseDeciding(reason: String = "") async throws {
        let pause = DecisionPause(date: self.server.clocks.reading.wall, reason: reason)
        try await self.setDecisionPause(pause)
    }

    /// Lets agents decide again, what came meanwhile included. They notice within seconds.
    ///
    /// - Throws: The errors of ``pauseDeciding(reason:)``.
    public func resumeDeciding() async throws {
        try await self.setDecisionPause(nil)
    }

    /// The pause of what agents decide; `nil` while they may.
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
