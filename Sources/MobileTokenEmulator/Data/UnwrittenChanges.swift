import EmulatorBackend

/// The changes of the state that the data file lacks.
struct UnwrittenChanges: Sendable {
    private enum Extent {
        case everything
        case objects(Set<StateKey>)
    }

    /// Counts the changes of the state, so that a caller can wait for the one it has made.
    private(set) var version: UInt64
    private var extent: Extent

    /// - Parameter isWritten: `true` if the file holds the state as it is.
    init(isWritten: Bool) {
        self.version = isWritten ? 0 : 1
        self.extent = isWritten ? .objects([]) : .everything
    }

    /// Notes which objects have changed.
    ///
    /// - Parameter isKept: `true` if there is a data file, which lacks these changes.
    mutating func note(_ changes: Set<StateKey>, isKept: Bool) {
        guard !changes.isEmpty else { return }
        self.version += 1
        guard isKept, case .objects(let earlier) = self.extent else { return }
        self.extent = .objects(earlier.union(changes))
    }

    /// Notes that there is another state.
    mutating func noteReplacement() {
        self.version += 1
        self.extent = .everything
    }

    /// Notes that the state is again what the file holds.
    ///
    /// - Returns: The version that this makes.
    mutating func noteReturn() -> UInt64 {
        self.version += 1
        self.extent = .objects([])
        return self.version
    }

    /// Hands over what is to be written; from now on the file lacks nothing.
    mutating func take(
        from backend: Backend,
        initial: WholeState
    ) throws -> (version: UInt64, changes: DataFile.Changes) {
        var changes = DataFile.Changes()
        let keys: any Sequence<StateKey>
        switch self.extent {
        case .everything:
            changes.initial = try initial.exported()
            keys = backend.state.keys
        case .objects(let changed):
            keys = changed
        }
        for key in keys { changes.records[key] = .some(try backend.state.record(key)) }
        self.extent = .objects([])
        return (self.version, changes)
    }
}
