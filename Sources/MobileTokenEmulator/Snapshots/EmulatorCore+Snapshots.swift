import EmulatorBackend
import EmulatorMessages

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
    static let unknownSnapshot = Self(.notFound, "There is no such snapshot")
}
