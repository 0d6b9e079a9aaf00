import Basics
import Coordination

/// The questions that a desk follows, with the times of their next polls and their waiters.
///
/// A value. Times are the desk clock's.
struct DeskState {
    /// A followed question.
    struct Entry: Sendable {
        /// The interval to the next poll, which grows.
        var interval: Duration
        /// The time of the last poll.
        var looked: Duration?
        /// The question's end, in milliseconds since 1970: the earliest end is polled first.
        var ends: Int64
        /// The time of the next poll.
        var due = Duration.zero
        /// The end of the wait that the server asked for.
        var notBefore = Duration.zero
    }

    private static let growth = 1.25
    /// The interval between two searches of the ledger.
    static let searchInterval = Duration.seconds(60)
    static let callbackInterval = Duration.seconds(1)
    /// The time that an approval without the device's signature waits for a callback with it.
    static let callbackPatience = Duration.seconds(60)
    private static let signatureLimit = 1_000
    private static let strayLimit = 64
    private static let unreadableLimit = 1_000

    private(set) var schedule = DeadlineQueue<Duration, LedgerKey, Entry>()
    private var keysByOperation: [ExactString: LedgerKey] = [:]
    private var operations: [LedgerKey: [ExactString]] = [:]
    /// The unverified device signatures from callbacks, by operation.
    private var signatures: [ExactString: [String]] = [:]
    /// The time when the server first reported an approval that waits for its signature.
    private var unsigned: [ExactString: Duration] = [:]
    /// Questions that may have orphaned operations at the server.
    private(set) var withStrays: Set<LedgerKey> = []
    /// IDs from callbacks that match no question, and may be orphans.
    private var unrecognized: [ExactString] = []
    private var nextLookup = Duration.zero
    private var nextSearch = Duration.zero
    private var signals: [LedgerKey: [ObjectIdentifier: Signal]] = [:]
    var steps: [LedgerKey: SharedTask<DeskCore.Stored>] = [:]
    var runners = 0
    /// The reported unreadable rows of the ledger.
    private(set) var unreadable: Set<LedgerKey> = []
    var lastError: String?
    /// The open questions, and those with an interrupted action, as last seen.
    private(set) var open: Set<LedgerKey> = []
    private(set) var unknown: Set<LedgerKey> = []

    /// Records a question's state in the ledger.
    mutating func note(_ record: QuestionRecord) {
        if record.state.isPending { self.open.insert(record.key) } else { self.open.remove(record.key) }
        if record.state == .unknown { self.unknown.insert(record.key) } else { self.unknown.remove(record.key) }
    }

    // MARK: Schedule

    /// Plans a question's next poll.
    mutating func plan(
        _ record: QuestionRecord,
        at now: Duration,
        date: Int64,
        patience: Int64,
        timeout: Int64,
        limits: ApprovalDesk.Configuration.Limits,
        failed: Bool,
        retryAfter: Duration?,
        isNew: Bool
    ) {
        let key = record.key
        self.index(record)
        guard record.needsAttention else {
            self.schedule.remove(key)
            return
        }
        var entry = self.schedule[key] ?? Entry(interval: limits.shortestPoll, looked: nil, ends: 0)
        if entry.looked != nil { entry.interval = min(entry.interval * (failed ? 2 : Self.growth), limits.longestPoll) }
        entry.looked = now
        entry.ends = record.ends
        var wait = max(limits.shortestPoll, entry.interval)
        func until(_ moment: Int64) -> Duration { max(.seconds(1), .milliseconds(moment.subtractingSaturated(date))) }
        if let moment = record.nextCreation(after: date, patience: patience) { wait = min(wait, until(moment)) }
        if let retryAfter {
            let asked = min(retryAfter, .seconds(3_600))
            wait = max(wait, asked)
            entry.notBefore = now + asked
        }
        if record.state.isPending {
            // Whatever the server requests, the question ends in time: the response to a later poll might come after that.
            let isLast = date >= record.lastLook
            wait = isLast ? until(record.givenUp(timeout: timeout)) : min(wait, until(record.lastLook))
        } else if record.state.isFinal, isNew {
            // The server must still be notified.
            wait = .zero
        }
        self.put(entry, for: key, at: now + wait)
    }

    /// Starts following an earlier question, or one of another process.
    mutating func takeUp(_ record: QuestionRecord, at now: Duration, limits: ApprovalDesk.Configuration.Limits) {
        self.note(record)
        self.index(record)
        guard self.schedule[record.key] == nil else { return }
        self.put(Entry(interval: limits.shortestPoll, looked: nil, ends: record.ends), for: record.key, at: now)
    }

    private mutating func put(_ entry: Entry, for key: LedgerKey, at due: Duration) {
        var entry = entry
        entry.due = due
        self.schedule.insert(entry, for: key, at: due)
    }

    private mutating func index(_ record: QuestionRecord) {
        let key = record.key
        guard record.needsAttention else {
            self.forgetOperations(of: key)
            return
        }
        let operations = record.parts.compactMap { $0.operationID.map { ExactString($0) } }
        self.operations[key] = operations
        for operation in operations { self.keysByOperation[operation] = key }
        if record.mayHaveStrays { self.withStrays.insert(key) } else { self.withStrays.remove(key) }
    }

    func due(_ key: LedgerKey) -> Duration? { self.schedule[key]?.due }

    /// The next due time; `nil` if nothing is planned.
    mutating func nextTime() -> Duration? {
        [self.schedule.earliest(), self.nextLookupTime].compactMap { $0 }.min()
    }

    /// Removes and returns the due questions, earliest deadline first.
    mutating func takeDue(at now: Duration, limits: ApprovalDesk.Configuration.Limits) -> [LedgerKey] {
        var due: [(key: LedgerKey, ends: Int64)] = []
        while let (key, entry) = self.schedule.removeFirst(dueAt: now) {
            due.append((key, entry.ends))
            // A fallback in case the poll fails altogether.
            self.put(entry, for: key, at: now + limits.longestPoll)
        }
        return due.sorted { $0.ends < $1.ends }.map(\.key)
    }

    /// Stops following a question.
    mutating func forget(_ key: LedgerKey) {
        self.open.remove(key)
        self.forgetOperations(of: key)
        self.schedule.remove(key)
    }

    private mutating func forgetOperations(of key: LedgerKey) {
        for operation in self.operations.removeValue(forKey: key) ?? [] {
            self.keysByOperation[operation] = nil
            self.signatures[operation] = nil
            self.unsigned[operation] = nil
        }
        self.withStrays.remove(key)
    }

    // MARK: The ledger

    /// Returns whether a waiting call should search the ledger now; a poller searches by itself.
    mutating func takeSearch(at now: Duration) -> Bool {
        guard self.runners == 0, now >= self.nextSearch else { return false }
        self.nextSearch = now + Self.searchInterval
        return true
    }

    /// Records unreadable rows, and returns those not reported yet.
    mutating func note(unreadable keys: [LedgerKey]) -> [LedgerKey] {
        keys.filter { self.unreadable.count < Self.unreadableLimit && self.unreadable.insert($0).inserted }
    }

    // MARK: Callbacks

    enum Wake: Equatable {
        case known(LedgerKey)
        case unrecognized
        case ignored
    }

    /// Handles a callback's hint that an operation changed.
    mutating func wake(_ operation: String, at now: Duration) -> Wake {
        let id = ExactString(operation)
        if let key = self.keysByOperation[id], let entry = self.schedule[key] {
            // An operation is fetched at most once per second. Anyone may have sent the callback, which ends no `Retry-After`.
            let due = max(now, entry.notBefore, (entry.looked ?? now - Self.callbackInterval) + Self.callbackInterval)
            if due < entry.due { self.put(entry, for: key, at: due) }
            return .known(key)
        }
        guard !self.withStrays.isEmpty, !self.unrecognized.contains(id), self.unrecognized.count < Self.strayLimit
        else {
            return .ignored
        }
        self.unrecognized.append(id)
        return .unrecognized
    }

    /// Stores a device's signature from a callback as evidence, verified once the server reports the approval.
    mutating func note(_ signature: String, of operation: String) {
        let id = ExactString(operation)
        let known = self.signatures[id] ?? []
        // Two are kept, because a holder of the callback password may have forged the first.
        guard self.keysByOperation[id] != nil, known.count < 2, !known.contains(where: { $0.isExactly(signature) }),
            !known.isEmpty || self.signatures.count < Self.signatureLimit
        else { return }
        self.signatures[id] = known + [signature]
    }

    /// Returns an operation's signatures from callbacks.
    func signatures(of operation: String) -> [String] { self.signatures[ExactString(operation)] ?? [] }

    /// Returns whether a callback may still deliver the signature of an operation approved at the server.
    mutating func awaitsSignature(of operation: String, at now: Duration) -> Bool {
        let id = ExactString(operation)
        let since = self.unsigned[id] ?? now
        self.unsigned[id] = since
        return now - since < Self.callbackPatience
    }

    /// Takes the next possible orphan: one per second, whatever its ID.
    mutating func takeUnrecognized(at now: Duration) -> String? {
        guard !self.withStrays.isEmpty else {
            self.unrecognized = []
            return nil
        }
        guard now >= self.nextLookup, !self.unrecognized.isEmpty else { return nil }
        self.nextLookup = now + Self.callbackInterval
        return self.unrecognized.removeFirst().string
    }

    /// The time of the next look at an unrecognized operation; `nil` if there is none.
    var nextLookupTime: Duration? { self.unrecognized.isEmpty ? nil : self.nextLookup }

    // MARK: Waiting

    mutating func add(_ signal: Signal, for key: LedgerKey) {
        self.signals[key, default: [:]][ObjectIdentifier(signal)] = signal
    }

    mutating func remove(_ signal: Signal, for key: LedgerKey) {
        self.signals[key]?[ObjectIdentifier(signal)] = nil
        if self.signals[key]?.isEmpty == true { self.signals[key] = nil }
    }

    func signals(for key: LedgerKey) -> [Signal] { self.signals[key].map { Array($0.values) } ?? [] }
    var allSignals: [Signal] { self.signals.values.flatMap(\.values) }
}

extension QuestionRecord {
    /// The known or planned end, in milliseconds since 1970.
    var ends: Int64 {
        self.parts.compactMap(\.expires).min() ?? self.asked.addingSaturated(self.terms.milliseconds)
    }
}
