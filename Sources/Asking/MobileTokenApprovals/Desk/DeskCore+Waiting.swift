import Basics
import Coordination

extension DeskCore {
    /// Waits until people can no longer decide a question, and follows it unless a poller does.
    ///
    /// It ends in time, whatever the server does: see ``QuestionRecord/givenUp(timeout:)``.
    ///
    /// - Parameter stored: The question as just read or written; `nil` to read it.
    func decided(_ key: LedgerKey, from stored: Stored? = nil) async throws -> Stored {
        if let stored, stored.isOver { return await self.told(stored) }
        let signal = Signal()
        self.withState { $0.add(signal, for: key) }
        defer { self.withState { $0.remove(signal, for: key) } }
        // A question read before the signal was registered may be stepped, but not waited for.
        if let stored, self.isDue(key), let over = try await self.stepped(stored, key, signal) {
            return await self.told(over)
        }
        while true {
            try Task.checkCancellation()
            let stored = try await self.loaded(key)
            if stored.isOver { return await self.told(stored) }
            if let over = try await self.wait(for: signal, stored) { return await self.told(over) }
        }
    }

    /// Indicates whether a question is due, and no poller follows it.
    private func isDue(_ key: LedgerKey) -> Bool {
        let now = self.clock.now
        return self.withState { $0.runners == 0 && $0.due(key).map { $0 <= now } ?? true }
    }

    /// - Returns: The question, if people can no longer decide it after the step.
    private func stepped(_ stored: Stored?, _ key: LedgerKey, _ signal: Signal) async throws -> Stored? {
        try Task.checkCancellation()
        let result = try await self.step(key, from: stored)
        signal.lower()
        return result.isOver ? result : nil
    }

    /// - Returns: The question, if a step of this call has ended it; `nil` if it must be read again.
    private func wait(for signal: Signal, _ stored: Stored) async throws -> Stored? {
        let key = stored.record.key
        let (isRunning, due, lookup) = self.withState { ($0.runners > 0, $0.due(key), $0.nextLookupTime) }
        if isRunning {
            // Other questions may delay the poller.
            let left = stored.record.givenUp(timeout: self.timeout).subtractingSaturated(self.now)
            let end = self.clock.now + .milliseconds(max(0, left))
            guard let isRaised = try await withDeadline(end, on: self.clock, { await signal.wait() }) else {
                let over = try await self.ledger.change(stored) { $0.giveUp(at: self.now) }
                if over.record.state != stored.record.state { self.report(.changed, over.record) }
                return over
            }
            guard isRaised else { throw CancellationError() }
            return nil
        }
        let overdue = try await self.takeOverdue()
        // Their steps continue after this call has waited long enough.
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

    /// Returns questions that ended without the server's knowledge, as when it was unreachable. Without a poller, any waiting
    /// call handles them, at most once a minute.
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

    /// Follows all questions that need it, until the task is canceled.
    func run() async throws {
        self.withState { $0.runners += 1 }
        defer {
            let signals = self.withState { state in
                state.runners -= 1
                return state.allSignals
            }
            // From now on each waiting call follows its own question.
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

    /// Steps questions, a few at a time, so that a slow response does not delay the others.
    ///
    /// - Returns: `true` if the ledger as a whole may be faulty.
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

    /// Steps a question and records a failure, which may be temporary or concern only its row. A rollback of the whole ledger is
    /// detected by the search that follows, which ends the poller.
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

    /// Follows the questions that need attention according to the ledger.
    func takeUpAll() async throws {
        try await self.search(.needingAttention) { record in
            self.withState { $0.takeUp(record, at: self.clock.now, limits: self.configuration.limits) }
        }
        // These are not followed any more, but must be reported.
        try await self.search(.states([.unknown])) { record in self.withState { $0.note(record) } }
    }

    private func search(_ filter: LedgerFilter, _ body: (QuestionRecord) -> Void) async throws {
        var last: LedgerKey?
        repeat {
            let page = try await self.ledger.page(filter, after: last)
            self.note(unreadable: page.unreadable)
            for stored in page.readable { body(stored.record) }
            last = page.end
        } while last != nil
    }
}

extension Ledger.Stored {
    /// Indicates whether people can no longer decide it, or their decision no longer counts.
    fileprivate var isOver: Bool { !self.record.state.isPending || self.isForeign }
}
