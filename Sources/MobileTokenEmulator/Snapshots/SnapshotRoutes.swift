import APIDescriptions
import EmulatorBackend
import EmulatorMessages

extension ControlAPI {
    static let snapshotRoutes: [Route] = [
        Route(
            .control(
                "GET",
                "/snapshots",
                "Lists the snapshots.",
                takes: Call.query(PageBounds.fields),
                gives: SummaryPage<Emulator.SnapshotSummary>.form("SnapshotSummaries")
            )
        ) { control, bounds in SummaryPage(await control.core.snapshots.newestFirst, bounds) { $0 } },
        Route(
            .control(
                "POST",
                "/snapshots",
                "Keeps all that there is at this moment, but the journal, the pushes and the spaces, to be put back.",
                takes: Call.body(NewSnapshot.form, or: NewSnapshot()),
                gives: Emulator.SnapshotSummary.form,
                refuses: [507]
            )
        ) { control, snapshot in try await control.core.takeSnapshot(named: snapshot.name) },
        Route(
            .control(
                "POST",
                "/snapshots/{id}/restore",
                "Puts back what a snapshot holds. The journal goes on, and has an entry for this.",
                takes: Call.segment("id"),
                gives: Emulator.SnapshotSummary.form
            )
        ) { control, id in try await control.core.restoreSnapshot(Self.snapshotNumber(id)) },
        Route(
            .control(
                "DELETE",
                "/snapshots/{id}",
                "Removes a snapshot.",
                takes: Call.segment("id"),
                gives: Form.done
            )
        ) { control, id in try await control.core.removeSnapshot(Self.snapshotNumber(id)) },
    ]

    private static func snapshotNumber(_ id: String) throws(EmulatorError) -> UInt64 {
        guard let number = UInt64(id) else { throw .unknownSnapshot }
        return number
    }
}

/// The name of a snapshot.
struct NewSnapshot: Described {
    var name: String?

    static let fields = FieldTable(
        "NewSnapshot",
        NewSnapshot.init(name:),
        .optional("name", \.name, .word, "Its name in lists; 255 bytes at most.", example: "before the payment")
    )
}

extension EmulatorCore {
    func takeSnapshot(named name: String?) async throws(EmulatorError) -> Emulator.SnapshotSummary {
        if let name { try Emulator.SpaceSummary.check(name: name) }
        try self.requireRoomForSnapshot()
        let created = self.now
        let whole = try await self.wholeState()
        try self.requireRoomForSnapshot()
        let summary = Emulator.SnapshotSummary(id: self.snapshots.nextID(), name: name, created: created, of: whole)
        self.snapshots.append(summary, whole)
        return summary
    }

    private func requireRoomForSnapshot() throws(EmulatorError) {
        let capacity = self.configuration.capacity.snapshots
        guard self.snapshots.count < capacity else {
            let message = "There is no room for more snapshots (\(capacity)); remove those that are no longer used"
            throw EmulatorError(.capacityExceeded, message)
        }
    }

    func restoreSnapshot(_ id: UInt64) async throws(EmulatorError) -> Emulator.SnapshotSummary {
        guard let snapshot = self.snapshots[id] else { throw .unknownSnapshot }
        try await self.restore(snapshot.state) { core in
            // The journal goes on, and says where the state went back.
            let request = ReceivedRequest(method: "POST", path: "/_emulator/snapshots/\(id)/restore")
            _ = core.journal.append(request, reply: Reply(status: 200), fault: nil, at: core.now)
        }
        return snapshot.summary
    }

    func removeSnapshot(_ id: UInt64) throws(EmulatorError) {
        guard self.snapshots.remove(id) else { throw .unknownSnapshot }
    }
}

extension EmulatorError {
    static let unknownSnapshot = Self(.noSuch("snapshot"))
}

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
