import Coordination

extension DeskCore {
    /// Waits until people cannot decide a question any more, and looks after it meanwhile unless somebody else does.
    ///
    /// - Parameter stored: The question as it was read or written a moment ago; `nil` to read it.
    func decided(_ key: LedgerKey, from stored: Stored? = nil) async throws -> Stored {
        if let stored, stored.isOver { return stored }
        let signal = Signal()
        self.withState { $0.add(signal, for: key) }
        defer { self.withState { $0.remove(signal, for: key) } }
        // A question that was read before the signal stood may be stepped, but not waited for.
        if let stored, self.isDue(key), let over = try await self.stepped(stored, key, signal) { return over }
        while true {
            try Task.checkCancellation()
            let stored = try await self.loaded(key)
            if stored.isOver { return stored }
            if let over = try await self.wait(for: signal, stored) { return over }
        }
    }

    /// Indicates that a question is due, and that no poller looks after it.
    private func isDue(_ key: LedgerKey) -> Bool {
        let now = self.clock.now
        return self.withState { $0.runners == 0 && $0.due(key).map { $0 <= now } ?? true }
    }

    /// - Returns: The question, if the step has brought it to where people cannot decide it any more.
    private func stepped(_ stored: Stored?, _ key: LedgerKey, _ signal: Signal) async throws -> Stored? {
        try Task.checkCancellation()
        let result = try await self.step(key, from: stored)
        signal.lower()
        return result.isOver ? result : nil
    }

    /// - Returns: The question, if a step of this call has ended it; `nil` when it must be read again.
    private func wait(for signal: Signal, _ stored: Stored) async throws -> Stored? {
        let key = stored.record.key
        let (isRunning, due, lookup) = self.withState { ($0.runners > 0, $0.due(key), $0.nextLookupTime) }
        if isRunning {
            guard await signal.wait() else { throw CancellationError() }
            return nil
        }
        let overdue = try await self.takeOverdue()
        // Their steps go on when this call has waited long enough.
        async let _ = self.stepAll(overdue)
        let deadline = [due ?? self.clock.now, lookup].compactMap { $0 }.min() ?? self.clock.now
        let mustWait = deadline > self.clock.now
        if mustWait, try await withDeadline(deadline, on: self.clock, { await signal.wait() }) != nil {
            // Woken early: there may be something new to wait for.
            try Task.checkCancellation()
            return nil
        }
        return try await self.stepped(mustWait ? nil : stored, key, signal)
    }

    /// Returns the questions that are over without the server's knowledge, as when it could not be reached. Where no poller runs, whoever
    /// waits for another question tells it, at most once a minute.
    private func takeOverdue() async throws -> [LedgerKey] {
        guard self.withState({ $0.takeSearch(at: self.clock.now) }) else { return [] }
        var (keys, last) = ([LedgerKey](), LedgerKey?.none)
        repeat {
            let page = try await self.ledger.page(.needingAttention, after: last)
            keys += page.readable.filter { $0.record.state.isFinal && !$0.isForeign }.map(\.record.key)
            last = page.end
        } while last != nil
        return keys
    }

    /// Looks after all questions that need it, until the task is canceled.
    func run() async throws {
        self.withState { $0.runners += 1 }
        defer {
            let signals = self.withState { state in
                state.runners -= 1
                return state.allSignals
            }
            // Whoever waits looks after its question itself from now on.
            for signal in signals { signal.raise() }
        }
        var nextSearch = self.clock.now
        while true {
            try Task.checkCancellation()
            if self.clock.now >= nextSearch {
                try await self.takeUpAll()
                try await self.writeReceipts()
                nextSearch = self.clock.now + DeskState.searchInterval
            }
            try await self.lookUpUnrecognized()
            let due = self.withState { $0.takeDue(at: self.clock.now, limits: self.configuration.limits) }
            if try await self.stepAll(due) { nextSearch = self.clock.now }
            guard due.isEmpty else { continue }
            let next = min(self.withState { $0.nextTime() } ?? nextSearch, nextSearch)
            if next > self.clock.now { _ = try await withDeadline(next, on: self.clock) { await self.poller.wait() } }
        }
    }

    /// Steps questions, a few at a time: what a slow answer keeps is no reason for the others to wait.
    ///
    /// - Returns: `true` when something seems to be wrong with the ledger as a whole.
    private func stepAll(_ keys: [LedgerKey]) async throws -> Bool {
        try await withThrowingTaskGroup(of: Bool.self) { group in
            var isWrong = false
            var rest = keys[...]
            for key in rest.prefix(8) { group.addTask { try await self.stepNotingFailure(key) } }
            rest = rest.dropFirst(8)
            while let result = try await group.next() {
                if result { isWrong = true }
                guard let key = rest.popFirst() else { continue }
                group.addTask { try await self.stepNotingFailure(key) }
            }
            return isWrong
        }
    }

    /// A failure may pass, or be of one row alone: the others are looked after nevertheless. Whether the ledger went back as a whole, the
    /// search finds, which follows at once and ends the poller.
    private func stepNotingFailure(_ key: LedgerKey) async throws -> Bool {
        do {
            try await self.step(key)
            return false
        } catch let error as ApprovalError {
            self.withState { $0.lastError = error.description }
            guard error.code == .ledgerWentBack else { return false }
            self.withState { $0.forget(key) }
            self.note(unreadable: [key])
            return true
        }
    }

    /// Takes up what the ledger says somebody has to look after.
    func takeUpAll() async throws {
        var last: LedgerKey?
        while true {
            let page = try await self.ledger.page(.needingAttention, after: last)
            self.note(unreadable: page.unreadable)
            for stored in page.readable {
                self.withState { $0.takeUp(stored.record, at: self.clock.now, limits: self.configuration.limits) }
            }
            guard let end = page.end else { return }
            last = end
        }
    }
}

extension Ledger.Stored {
    /// Indicates that people cannot decide it any more, or that their decision no longer counts.
    fileprivate var isOver: Bool { !self.record.state.isPending || self.isForeign }
}
