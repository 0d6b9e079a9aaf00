import EmulatorBackend

// No client, bank or journal reader learns of a change before it is durable.
extension EmulatorCore {
    /// The consequences of a change.
    typealias Effects = @Sendable (isolated EmulatorCore) -> Void

    /// A change that waits for the data file.
    struct Commit: Sendable {
        let version: UInt64
        let effects: Effects
        /// Resumed with `true` if the change is durable.
        let isWritten: CheckedContinuation<Bool, Never>
    }

    /// Makes the current state durable, and then runs its effects; at once without a data file.
    ///
    /// Changes during a write share the next one. A failed write undoes all changes missing from the file, because each builds on
    /// the earlier ones.
    ///
    /// - Returns: The response if the change was undone; `nil` if it is durable.
    func commit(_ effects: @escaping Effects = { _ in }) async -> Reply? {
        // A request without changes needs no write.
        if self.dataFile != nil { self.keepDevices() }
        self.unwritten.note(self.backend.state.takeChanges(), isKept: self.dataFile != nil)
        guard self.configuration.dataFile != nil, !self.isBeginning else {
            effects(self)
            return nil
        }
        guard self.dataFile != nil else { return .error(503, message: "The server has stopped") }
        guard self.durableVersion < self.unwritten.version else {
            effects(self)
            return nil
        }
        let isWritten = await withCheckedContinuation { isWritten in
            self.commits.append(Commit(version: self.unwritten.version, effects: effects, isWritten: isWritten))
            self.writing = self.writing ?? Task { await self.writeCommits() }
        }
        return isWritten ? nil : .error(500, message: EmulatorError.notWritten.message)
    }

    /// Commits the changes of events, and reports them.
    func commit(_ events: [BackendEvent]) async throws(EmulatorError) {
        let announcements = events.map(self.backend.announcement(of:))
        if await self.commit({ $0.tell(announcements) }) != nil { throw .notWritten }
    }

    /// Writes until the file is up to date.
    private func writeCommits() async {
        while let file = self.dataFile, self.durableVersion < self.unwritten.version {
            do {
                let initial = self.initial
                let (version, changes) = try self.unwritten.take(from: self.backend, initial: initial)
                try await file.write(changes)
                if changes.initial != nil { self.writtenInitial = initial }
                self.durableVersion = version
                self.finishCommits(until: version, isWritten: true)
            } catch {
                await self.takeBack(file)
            }
        }
        self.writing = nil
        // The server has stopped meanwhile.
        if self.dataFile == nil { self.finishCommits(until: .max, isWritten: false) }
    }

    /// Restores the file's state. If the file cannot be read either, the server stops working.
    private func takeBack(_ file: DataFile) async {
        if let saved = try? await file.saved(), var backend = try? Backend(saved.current, self.configuration) {
            backend.adoptRules(of: self.backend)
            (self.backend, self.initial) = (backend, self.writtenInitial)
            self.devices.markAllChanged()
            self.durableVersion = self.unwritten.noteReturn()
        } else {
            self.dataFile = nil
        }
        self.finishCommits(until: .max, isWritten: false)
    }

    /// Finishes commits in order, so that no client learns of a later change first.
    private func finishCommits(until version: UInt64, isWritten: Bool) {
        let count = self.commits.prefix { $0.version <= version }.count
        let finished = self.commits.prefix(count)
        self.commits.removeFirst(count)
        for commit in finished {
            if isWritten { commit.effects(self) }
            commit.isWritten.resume(returning: isWritten)
        }
    }
}

extension EmulatorError {
    static let notWritten = Self(.storage, "The state could not be written")
}
