/// The snapshots of a server or a space. They share what has not changed since with it and with each other.
struct SnapshotShelf: Sendable {
    /// Oldest first.
    private var kept: [(summary: Emulator.SnapshotSummary, state: WholeState)] = []
    private(set) var lastID: UInt64 = 0

    var count: Int { self.kept.count }
    var newestFirst: [Emulator.SnapshotSummary] { self.kept.reversed().map(\.summary) }

    subscript(id: UInt64) -> (summary: Emulator.SnapshotSummary, state: WholeState)? {
        self.kept.first { $0.summary.id == id }
    }

    mutating func nextID() -> UInt64 {
        self.lastID += 1
        return self.lastID
    }

    mutating func append(_ summary: Emulator.SnapshotSummary, _ state: WholeState) {
        self.kept.append((summary, state))
    }

    /// - Returns: `false` when there was none.
    mutating func remove(_ id: UInt64) -> Bool {
        let count = self.kept.count
        self.kept.removeAll { $0.summary.id == id }
        return self.kept.count < count
    }
}
