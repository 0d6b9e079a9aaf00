extension Emulator {
    /// Keeps all that the server or the space holds at this moment, so that it can be put back: the state, the clock, the
    /// fault rules with their counts, templates, rules of the protocol, virtual devices with their keys and counters, and
    /// the deliveries to the bank. Not the journal and the pushes, which tell what has passed, and not the spaces of a server.
    ///
    /// ```swift
    /// let before = try await emulator.snapshot(named: "before the payment")
    /// …
    /// try await emulator.restore(before.id)
    /// ```
    ///
    /// It is kept in memory until ``removeSnapshot(_:)`` or the end of the server or space, also over a reset or an import.
    ///
    /// - Parameter name: The name in lists; 255 bytes at most.
    /// - Throws: ``EmulatorError`` of code `capacityExceeded` when there are ``EmulatorCapacity/snapshots`` already.
    @discardableResult
    public func snapshot(named name: String? = nil) async throws(EmulatorError) -> SnapshotSummary {
        try await self.core.takeSnapshot(named: name)
    }

    /// The snapshots, newest first.
    public func snapshots() async -> [SnapshotSummary] { await self.core.snapshots.newestFirst }

    /// Puts back what a snapshot holds, as one change; it can be put back again.
    ///
    /// A client that has signed since then is ahead of the server, and one whose own backup is older than the snapshot is
    /// behind. What a virtual device or a delivery was about to do is not noted any more; what was under way when the
    /// snapshot was made begins anew. The journal goes on, and has an entry for this.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`, or `storage` when the data file cannot be written.
    @discardableResult
    public func restore(_ id: SnapshotSummary.ID) async throws(EmulatorError) -> SnapshotSummary {
        try await self.core.restoreSnapshot(id)
    }

    /// Removes a snapshot.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func removeSnapshot(_ id: SnapshotSummary.ID) async throws(EmulatorError) {
        try await self.core.removeSnapshot(id)
    }
}
