import EmulatorBackend

/// The changes of the state missing from the data file.
struct UnwrittenChanges: Sendable {
    private enum Extent {
        case everything
        case objects(Set<StateKey>)
    }

    /// The number of state changes, so that a caller can wait for its own.
    private(set) var version: UInt64
    private var extent: Extent

    /// - Parameter isWritten: `true` if the file holds the current state.
    init(isWritten: Bool) {
        self.version = isWritten ? 0 : 1
        self.extent = isWritten ? .objects([]) : .everything
    }

    /// Notes changed objects.
    ///
    /// - Parameter isKept: `true` if there is a data file, which lacks these changes.
    mutating func note(_ changes: [StateKey], isKept: Bool) {
        guard !changes.isEmpty else { return }
        self.version += 1
        guard isKept, case .objects(let earlier) = self.extent else { return }
        self.extent = .objects(earlier.union(changes))
    }

    /// Notes that the whole state was replaced.
    mutating func noteReplacement() {
        self.version += 1
        self.extent = .everything
    }

    /// Notes that the state equals the file again.
    ///
    /// - Returns: The resulting version.
    mutating func noteReturn() -> UInt64 {
        self.version += 1
        self.extent = .objects([])
        return self.version
    }

    /// Takes the changes to write; the file then counts as up to date.
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
