extension Emulator {
    /// Returns what happened to an operation, oldest first: who made it, which devices were shown it, and what they decided
    /// with which factors, as far as it is remembered.
    ///
    /// It follows from the journal, and goes back as far as that does.
    ///
    /// - Parameter id: The operation's identifier.
    /// - Returns: Nothing for an operation that there is not, or that was made before the server started.
    public func history(ofOperation id: String) async -> [OperationMoment] {
        await self.core.history(ofOperation: id) ?? []
    }

    /// The requests of the journal that a filter asks for, oldest first: those after the entry numbered `id`.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration` for a filter that no request can fulfil.
    public func journal(
        matching filter: JournalFilter,
        since id: UInt64 = 0
    ) async throws(EmulatorError) -> [JournalEntry] {
        try filter.check()
        return await self.core.journal(since: id, filter).entries
    }
}
