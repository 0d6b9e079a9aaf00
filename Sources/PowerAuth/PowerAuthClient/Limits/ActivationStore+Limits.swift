package import DecisionReceipts

extension ActivationStore {
    /// Returns what the windows of some checks hold, and the minute of the latest restore, before which charges may be missing.
    package func limitUse(_ checks: [LimitCharges.Check]) async throws -> (used: [Int64], closure: Int64?) {
        _ = try await self.opened()
        return (try await self.driver.limitUse(checks), try await self.driver.limitClosure())
    }

    /// Closes the limits whose windows begin before the next decision that they concern, as after a restore.
    package func closeLimits() async throws {
        _ = try await self.opened()
        try await self.driver.setLimitClosure(ChargeSums.undatedClosure)
    }

    /// Dates a closure by the first decision after it, because windows follow the server's time, and a restore only tells a
    /// local one.
    func dateClosure(_ minute: Int64?) async throws {
        guard let minute, try await self.driver.limitClosure() == ChargeSums.undatedClosure else { return }
        try await self.driver.setLimitClosure(minute)
    }

    /// Opens the limits that a restore has closed.
    ///
    /// - Returns: `false` if they were open.
    package func openLimits() async throws -> Bool {
        _ = try await self.opened()
        guard try await self.driver.limitClosure() != nil else { return false }
        try await self.driver.setLimitClosure(nil)
        return true
    }
}
