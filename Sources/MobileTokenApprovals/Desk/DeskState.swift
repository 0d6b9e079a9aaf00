import Basics
import Coordination

/// The questions that a desk looks after: when each is looked at next, and who waits for it.
///
/// A value. Times are those of the desk's clock.
struct DeskState {
    /// A question that is looked after.
    struct Entry: Sendable {
        /// The time to the next look, which grows.
        var interval: Duration
        /// The time when it was looked at last.
        var looked: Duration?
        /// The time at which the question ends, in milliseconds since 1970: what ends soonest is looked at first.
        var ends: Int64
        /// The time when it is looked at next.
        var due = Duration.zero
    }

    private static let growth = 1.25
    /// The time between two searches of the ledger for questions that need a look.
    static let searchInterval = Duration.seconds(60)
    static let callbackInterval = Duration.seconds(1)
    /// The time for which an approval without the device's signature waits for a callback that tells it.
    static let callbackPatience = Duration.seconds(60)
    private static let signatureLimit = 1_000
    private static let strayLimit = 64
    private static let unreadableLimit = 1_000
    /// Two clocks agree for so long.
    private static let timeValidity = Duration.seconds(600)

    private(set) var schedule = DeadlineQueue<Duration, LedgerKey, Entry>()
    private var keysByOperation: [ExactString: LedgerKey] = [:]
    private var operations: [LedgerKey: [ExactString]] = [:]
    /// The devices' own signatures that callbacks told, by operation; none of them is checked.
    private var signatures: [ExactString: [String]] = [:]
    /// The time when the server first said that an operation is approved whose signature is waited for.
    private var unsigned: [ExactString: Duration] = [:]
    /// Questions of which the server may have operations that nobody knows.
    private(set) var withStrays: Set<LedgerKey> = []
    /// Operations of which a callback told, and which may be such.
    private var unrecognized: [ExactString] = []
    private var nextLookup = Duration.zero
    private var nextSearch = Duration.zero
    private var signals: [LedgerKey: [ObjectIdentifier: Signal]] = [:]
    var steps: [LedgerKey: SharedTask<DeskCore.Stored>] = [:]
    var runners = 0
    private var serverTime: (date: Int64, heard: Duration)?
    /// The time when the server last told its time, or answered without it.
    private var timeAsked: Duration?
    /// The server's time less the desk's, in milliseconds.
    private(set) var offset: Int64?
    /// Rows of the ledger that cannot be read, and were told of.
    private(set) var unreadable: Set<LedgerKey> = []
    var lastError: String?

    // MARK: Schedule

    /// Plans the next look at a question.
    mutating func plan(
        _ record: QuestionRecord,
        at now: Duration,
        date: Int64,
        patience: Int64,
        limits: ApprovalDesk.Configuration.Limits,
        failed: Bool,
        retryAfter: Duration?
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
        for moment in [record.nextCreation(after: date, patience: patience), record.givenUp].compactMap({ $0 }) {
            wait = min(wait, max(.seconds(1), .milliseconds(moment.subtractingSaturated(date))))
        }
        if let retryAfter { wait = max(wait, min(retryAfter, .seconds(3_600))) }
        self.put(entry, for: key, at: now + wait)
    }

    /// Takes up a question that was asked earlier, or by another process.
    mutating func takeUp(_ record: QuestionRecord, at now: Duration, limits: ApprovalDesk.Configuration.Limits) {
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

    /// The time at which something is due; `nil` when nothing is planned.
    mutating func nextTime() -> Duration? {
        [self.schedule.earliest(), self.nextLookupTime].compactMap { $0 }.min()
    }

    /// Takes out what is due, what ends soonest first.
    mutating func takeDue(at now: Duration, limits: ApprovalDesk.Configuration.Limits) -> [LedgerKey] {
        var due: [(key: LedgerKey, ends: Int64)] = []
        while let (key, entry) = self.schedule.removeFirst(dueAt: now) {
            due.append((key, entry.ends))
            // Should the look fail altogether, there is another one.
            self.put(entry, for: key, at: now + limits.longestPoll)
        }
        return due.sorted { $0.ends < $1.ends }.map(\.key)
    }

    /// Looks after a question no more.
    mutating func forget(_ key: LedgerKey) {
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

    // MARK: The server's time

    /// Notes the server's time.
    ///
    /// - Parameter wall: The desk's time of day.
    mutating func note(serverTime date: Int64, at now: Duration, wall: Int64) {
        self.serverTime = (date, now)
        self.timeAsked = now
        self.offset = date.subtractingSaturated(wall)
    }

    /// The server's time, told by a clock that nobody sets; `nil` before its first answer.
    func serverNow(at now: Duration) -> Int64? {
        self.serverTime.map { $0.date.addingSaturated((now - $0.heard).milliseconds) }
    }

    /// Returns whether the server is to be asked for its time.
    func mustAskForTime(at now: Duration) -> Bool {
        self.timeAsked.map { now - $0 >= Self.timeValidity } ?? true
    }

    /// Notes that a server was asked that tells no time.
    mutating func noteTimeless(at now: Duration) { self.timeAsked = now }

    // MARK: The ledger

    /// Returns whether the ledger is to be searched now by one who waits: a poller does so by itself.
    mutating func takeSearch(at now: Duration) -> Bool {
        guard self.runners == 0, now >= self.nextSearch else { return false }
        self.nextSearch = now + Self.searchInterval
        return true
    }

    /// Notes the rows that cannot be read; returns those that were not told of yet.
    mutating func note(unreadable keys: [LedgerKey]) -> [LedgerKey] {
        keys.filter { self.unreadable.count < Self.unreadableLimit && self.unreadable.insert($0).inserted }
    }

    // MARK: Callbacks

    enum Wake: Equatable {
        case known(LedgerKey)
        case unrecognized
        case ignored
    }

    /// Takes the word of a callback that an operation has changed: nothing more than a reason to look.
    mutating func wake(_ operation: String, at now: Duration) -> Wake {
        let id = ExactString(operation)
        if let key = self.keysByOperation[id], let entry = self.schedule[key] {
            // One operation is fetched at most once a second.
            let due = max(now, (entry.looked ?? now - Self.callbackInterval) + Self.callbackInterval)
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

    /// Takes a device's signature of which a callback told: evidence, which is checked once the server says that it was approved.
    mutating func note(_ signature: String, of operation: String) {
        let id = ExactString(operation)
        let known = self.signatures[id] ?? []
        // Two are kept: whoever knows the password for callbacks may have forged the first.
        guard self.keysByOperation[id] != nil, known.count < 2, !known.contains(where: { $0.isExactly(signature) }),
            !known.isEmpty || self.signatures.count < Self.signatureLimit
        else { return }
        self.signatures[id] = known + [signature]
    }

    /// Returns the signatures of an operation of which callbacks told.
    func signatures(of operation: String) -> [String] { self.signatures[ExactString(operation)] ?? [] }

    /// Returns whether a callback may still tell the signature of an operation, which the server says is approved.
    mutating func awaitsSignature(of operation: String, at now: Duration) -> Bool {
        let id = ExactString(operation)
        let since = self.unsigned[id] ?? now
        self.unsigned[id] = since
        return now - since < Self.callbackPatience
    }

    /// Takes the next operation that may be one of ours: one a second, of whatever name.
    mutating func takeUnrecognized(at now: Duration) -> String? {
        guard !self.withStrays.isEmpty else {
            self.unrecognized = []
            return nil
        }
        guard now >= self.nextLookup, !self.unrecognized.isEmpty else { return nil }
        self.nextLookup = now + Self.callbackInterval
        return self.unrecognized.removeFirst().string
    }

    /// The time when the next unrecognized operation may be looked at; `nil` when there is none.
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
    /// The time when it ends, as far as is known, in milliseconds since 1970.
    var ends: Int64 {
        self.parts.compactMap(\.expires).min() ?? self.asked.addingSaturated(self.terms.seconds * 1_000)
    }
}
