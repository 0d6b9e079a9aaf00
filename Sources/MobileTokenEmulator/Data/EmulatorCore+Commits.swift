import EmulatorBackend
import Foundation

// Nobody is told of a change before it is durable: not the client, not the bank, not the reader of the journal.
extension EmulatorCore {
    /// The consequences of a change.
    typealias Effects = @Sendable (isolated EmulatorCore) -> Void

    /// A change that waits for the data file.
    struct Commit: Sendable {
        let version: UInt64
        let effects: Effects
        /// Resumed with whether the change is durable.
        let isWritten: CheckedContinuation<Bool, Never>
    }

    /// Makes the state as it is now durable, and then does what follows from it; without a data file, at once.
    ///
    /// Changes that come while the file is written share the next write. A write that fails takes back all changes that the
    /// file lacks: each was made on top of those before it.
    ///
    /// - Returns: The response when the change was taken back; `nil` when it is durable.
    func commit(_ effects: @escaping Effects = { _ in }) async -> Reply? {
        // For a request that changed nothing, nothing is written.
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

    /// Commits what events tell of, and tells of them.
    func commit(_ events: [BackendEvent]) async throws(EmulatorError) {
        let announcements = events.map(self.backend.announcement(of:))
        if await self.commit({ $0.tell(announcements) }) != nil { throw .notWritten }
    }

    /// Writes until the file lacks nothing.
    private func writeCommits() async {
        while let file = self.dataFile, self.durableVersion < self.unwritten.version {
            do {
                let (version, changes) = try self.unwritten.take(from: self.backend, initial: self.initial)
                try await file.write(changes)
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

    /// Goes back to the state that the file holds. A file that cannot be read either ends the server's work.
    private func takeBack(_ file: DataFile) async {
        if let saved = try? await file.saved(), let initial = try? Backend(document: saved.initial, self.configuration),
            var backend = try? Backend(saved.current, self.configuration)
        {
            backend.adoptRules(of: self.backend)
            (self.backend, self.initial.backend) = (backend, initial)
            self.devices.markAllChanged()
            self.durableVersion = self.unwritten.noteReturn()
        } else {
            self.dataFile = nil
        }
        self.finishCommits(until: .max, isWritten: false)
    }

    /// In the order of the changes, so that nobody hears of a later one first.
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
