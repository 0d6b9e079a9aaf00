import MobileToken
import MobileTokenPostgres
import PowerAuth

/// The nodes' shared database, as a value: each transaction is one call.
///
/// It responds like the PostgreSQL drivers: leases with fences by the database's clock, epochs by timeline, buckets for polling,
/// and receipts. A copy is a backup.
struct Database {
    struct Node {
        var name: String
        var expires: Int64
        var polls = false
    }

    /// A receipt entry, with its latest outcome if it is an intent.
    struct Entry {
        let number: UInt64
        let intent: UInt64?
        let tag: WriteTag
        let key: Int64
        let sealed: SealedReceipt
        var outcome: SealedOutcome?
        var isReleased = false

        var isOpen: Bool {
            self.intent == nil && self.outcome?.weight ?? 0 < DecisionOutcome.Result.decidedWeight
        }
    }

    /// The server with the content.
    struct Server: Equatable {
        var identifier = 1
        var timeline = 1
        /// The number of broken connections.
        var breaks = 0

        /// Returns whether the epochs belong to different servers; broken connections alone make no difference.
        func isOther(than other: Self) -> Bool {
            (self.identifier, self.timeline) != (other.identifier, other.timeline)
        }
    }

    struct Epoch: Equatable {
        var number: Int64 = 0
        var server = Server()
        var begun: Int64?

        var identity: DatabaseEpoch.Identity { DatabaseEpoch.Identity(number: self.number, begun: self.begun ?? 0) }
    }

    /// The time without a heartbeat after which other nodes take over.
    static let lifetime: Int64 = 6_000_000_000

    var keys: [StoreFacts.Key] = []
    var rows: [String: LoadedRow] = [:]
    private(set) var entries: [Entry] = []
    /// The indices of a signature's intents.
    private var intentIndices: [Judge.Signature: [Int]] = [:]
    var chargeSums = ChargeSums()
    /// Indicates whether another epoch closes the limits, and whether open outcomes take charges back: defects.
    var (closesLimits, releasesOpen) = (true, false)
    /// The charges of each lease, and those of some seconds ago, which defects look at.
    private var chargesOfLease: [Int64: ChargeSums] = [:]
    private var oldCharges: (sums: ChargeSums, taken: Int64) = (ChargeSums(), .min / 2)
    var pause: DecisionPause? {
        didSet { self.pausedAt = self.pause == nil ? nil : self.pausedAt ?? self.lastTime }
    }
    private var pausedAt: Int64?
    private var lastTime: Int64 = 0
    /// The activations taken over from a node that did not release them.
    private(set) var uncleanTakeovers: [String] = []
    private(set) var nodes: [Int64: Node] = [:]
    private(set) var buckets: [Int: Int64] = [:]
    private(set) var handoverRequests: [(activationID: String, node: Int64)] = []
    private(set) var epoch = Epoch()
    /// Indicates whether leases are bounded, which a defect omits.
    var boundsLeases = true
    private var lastFence: Int64 = 0
    private var lastSlot: Int64 = 0
    private var lastNumber: UInt64 = 0
    /// The running server, which is not restored with the content.
    var server = Server()

    // MARK: Epochs

    /// Begins another epoch if the server changed since the last.
    mutating func checkServer(at now: Int64) {
        if self.server.isOther(than: self.epoch.server) { self.beginEpoch(at: now) }
    }

    mutating func beginEpoch(after number: Int64, at now: Int64) {
        if self.epoch.number == number { self.beginEpoch(at: now) }
    }

    private mutating func beginEpoch(at now: Int64) {
        if self.closesLimits { self.chargeSums.closure = ChargeSums.undatedClosure }
        self.epoch = Epoch(number: self.epoch.number + 1, server: self.server, begun: now)
        for number in self.nodes.keys.sorted() { self.remove(number) }
    }

    /// Returns the rest of the quarantine without leases.
    func quarantineRest(at now: Int64) -> Duration {
        let rest = self.epoch.begun.map { $0 + Self.lifetime - now } ?? 0
        return .nanoseconds(min(Self.lifetime, max(0, rest)))
    }

    /// Returns whether an epoch is current for a change, by timeline only.
    func isCurrent(_ number: Int64) -> Bool {
        self.epoch.number == number && self.epoch.server.timeline == self.server.timeline
    }

    // MARK: Leases

    /// - Parameter epoch: The epoch with the ended quarantine; `nil` for any.
    /// - Returns: `nil` if another one has begun.
    mutating func takeLease(name: String, in epoch: DatabaseEpoch.Identity?, at now: Int64) -> Int64? {
        guard epoch.map({ self.isCurrent($0.number) && $0 == self.epoch.identity }) ?? true else { return nil }
        let clock = now / 1_000
        self.lastFence = self.lastFence < clock ? clock : self.lastFence + 1 + .random(in: 0..<1 << 32)
        self.nodes[self.lastFence] = Node(name: name, expires: now + Self.lifetime)
        return self.lastFence
    }

    /// - Returns: The activations that other nodes request; `nil` if the lease is lost.
    mutating func renew(_ number: Int64, at now: Int64, checksServer: Bool = true) -> [String]? {
        guard !checksServer || !self.server.isOther(than: self.epoch.server) else {
            self.checkServer(at: now)
            return nil
        }
        guard let node = self.nodes[number], node.expires > now else {
            self.sweep(at: now)
            return nil
        }
        self.nodes[number]?.expires = now + Self.lifetime
        self.sweep(at: now)
        let requested = self.handoverRequests.filter { self.rows[$0.activationID]?.holder == number }
        return Array(Set(requested.map(\.activationID))).sorted()
    }

    /// Removes expired leases. A lease beyond any heartbeat's length predates a clock set back, and gets one lifetime from now.
    mutating func sweep(at now: Int64) {
        for (number, node) in self.nodes where node.expires > now + 2 * Self.lifetime && self.boundsLeases {
            self.nodes[number]?.expires = now + Self.lifetime
        }
        for (number, node) in self.nodes.sorted(by: { $0.key < $1.key }) where node.expires <= now {
            self.remove(number)
        }
    }

    mutating func remove(_ number: Int64) {
        self.nodes[number] = nil
        self.buckets = self.buckets.filter { $0.value != number }
        self.handoverRequests.removeAll { $0.node == number }
    }

    mutating func acquire(_ activationID: String, for number: Int64, at now: Int64) -> RightAnswer {
        self.sweep(at: now)
        guard let row = self.rows[activationID] else { return .noActivation }
        guard self.nodes[number] != nil else { return .leaseLost }
        if row.holder == number || row.holder.map({ self.nodes[$0] == nil }) ?? true {
            if let holder = row.holder, holder != number { self.uncleanTakeovers.append(activationID) }
            self.rows[activationID]?.holder = number
            self.handoverRequests.removeAll { $0 == (activationID, number) }
            return .taken
        }
        if !self.handoverRequests.contains(where: { $0 == (activationID, number) }) {
            self.handoverRequests.append((activationID, number))
        }
        return .requested
    }

    /// Releases everything of a node.
    mutating func leave(_ number: Int64) {
        self.remove(number)
        for (id, row) in self.rows where row.holder == number { self.rows[id]?.holder = nil }
    }

    mutating func takeUncleanTakeovers() -> [String] {
        defer { self.uncleanTakeovers = [] }
        return self.uncleanTakeovers
    }

    mutating func handOver(_ activationID: String, from number: Int64) {
        guard self.rows[activationID]?.holder == number,
            let index = self.handoverRequests.firstIndex(where: { $0.activationID == activationID && $0.node != number }
            )
        else { return }
        self.rows[activationID]?.holder = self.handoverRequests.remove(at: index).node
    }

    // MARK: Buckets

    mutating func look(as number: Int64, at now: Int64) -> (owned: Set<Int>, count: Int) {
        self.sweep(at: now)
        self.nodes[number]?.polls = true
        let owned = Set(self.buckets.filter { $0.value == number }.keys)
        return (owned, max(1, self.nodes.values.count { $0.polls }))
    }

    mutating func takeBuckets(_ count: Int, as number: Int64) -> [Int] {
        guard self.nodes[number] != nil else { return [] }
        let taken = (0..<OperationsFleet.Buckets.count).filter { self.buckets[$0] == nil }.prefix(count)
        for bucket in taken { self.buckets[bucket] = number }
        return Array(taken)
    }

    mutating func giveBack(_ buckets: [Int], as number: Int64) {
        for bucket in buckets where self.buckets[bucket] == number { self.buckets[bucket] = nil }
    }

    mutating func stopPolling(as number: Int64) {
        self.buckets = self.buckets.filter { $0.value != number }
        self.nodes[number]?.polls = false
    }

    // MARK: Activations

    func load(_ activationID: String) -> LoadedRow? {
        guard var row = self.rows[activationID] else { return nil }
        if let holder = row.holder, self.nodes[holder] == nil { row.holder = nil }
        row.pause = self.pause
        row.epoch = self.epoch.number
        return row
    }

    mutating func insert(_ row: NewRow) -> InsertAnswer {
        let id = row.sealed.activationID
        if let held = self.rows[id] { return held.tag == row.tag ? .written(slot: held.slot) : .held }
        self.lastSlot += 1
        self.rows[id] = LoadedRow(
            slot: self.lastSlot,
            tag: row.tag,
            key: row.key,
            sealed: row.sealed,
            format: row.format,
            comparedEpoch: self.epoch.number
        )
        return .written(slot: self.lastSlot)
    }

    /// The conditions of a swap, some of which a defect may omit.
    struct Rules {
        var fences = true
        var pauses = true
        /// Indicates whether the pause is read from a snapshot three seconds old.
        var readsOldPause = false
        var epochs = true
        var tags = true
        var limits = Limits.held
    }

    /// The charges that a swap is compared with.
    enum Limits { case held, ignored, ofOneLease, old }

    mutating func swap(_ change: RowChange, at now: Int64, _ rules: Rules = Rules()) -> SwapAnswer {
        if self.epoch.server.timeline != self.server.timeline { self.checkServer(at: now) }
        guard let row = self.rows[change.activationID], row.slot == change.slot else { return .gone }
        guard row.tag == change.tag || !rules.tags else { return row.tag == change.newTag ? .written : .otherTag }
        guard self.isCurrent(change.epoch) || !rules.epochs else { return .otherEpoch }
        if let fence = change.fence, rules.fences, fence != row.holder || self.nodes[fence] == nil {
            return .fenceLost
        }
        self.lastTime = now
        let isSeen = !rules.readsOldPause || now - (self.pausedAt ?? now) > 3_000_000_000
        if change.heedsPause, rules.pauses, isSeen, let pause { return .paused(pause) }
        if let charges = change.charges {
            if let limit = self.limit(passedBy: charges, change.fence ?? 0, at: now, rules.limits) {
                return .limited(limit)
            }
            self.chargesOfLease[change.fence ?? 0, default: ChargeSums()].charge(charges.entries)
        }
        self.rows[change.activationID] = row.after(change)
        if let intent = change.intent { self.append(intent, nil, change.newTag, change.key) }
        return .written
    }

    private mutating func limit(
        passedBy charges: LimitCharges,
        _ lease: Int64,
        at now: Int64,
        _ rule: Limits
    ) -> String? {
        if now - self.oldCharges.taken > 3_000_000_000 { self.oldCharges = (self.chargeSums, now) }
        let sums =
            switch rule {
            case .held: self.chargeSums
            case .ignored: ChargeSums()
            case .ofOneLease: self.chargesOfLease[lease] ?? ChargeSums()
            case .old: self.oldCharges.sums
            }
        return rule == .ignored ? nil : sums.limit(passedBy: charges)
    }

    // MARK: Receipts

    /// The signatures with a receipt.
    var intents: [Judge.Signature] {
        self.entries.filter { $0.intent == nil }.map { Judge.Signature(of: $0.sealed) }
    }

    mutating func append(_ sent: SealedOutcome) -> AppendAnswer {
        var outcome = sent
        let intents = (self.intentIndices[Judge.Signature(of: outcome.sealed)] ?? []).filter { index in
            outcome.tag == nil || outcome.tag == self.entries[index].tag
        }
        let isOpen = outcome.weight < DecisionOutcome.Result.decidedWeight
        // A change made twice, because its row was restored in between, has two intents.
        var index = intents.last {
            let known = self.entries[$0].outcome?.weight ?? 0
            return outcome.weight > known || outcome.weight == known && isOpen
        }
        if intents.isEmpty, let intent = outcome.intent, let tag = outcome.tag {
            self.append(intent, nil, tag, outcome.key)
            (outcome, index) = (outcome.withRestoredIntent, self.entries.indices.last)
        }
        guard let index else { return .notBetter }
        self.entries[index].outcome = outcome
        let intent = self.entries[index]
        let isReleased = outcome.releasesCharges || self.releasesOpen && isOpen
        if let charges = intent.sealed.charges, intent.isReleased != isReleased {
            self.chargeSums.release(LimitCharges.entries(stored: charges), isUndone: intent.isReleased)
            self.entries[index].isReleased = isReleased
        }
        self.append(outcome.sealed, self.entries[index].number, self.entries[index].tag, outcome.key)
        return .written
    }

    private mutating func append(_ sealed: SealedReceipt, _ intent: UInt64?, _ tag: WriteTag, _ key: Int64) {
        self.lastNumber += 1
        if let charges = sealed.charges { self.chargeSums.charge(LimitCharges.entries(stored: charges)) }
        if intent == nil { self.intentIndices[Judge.Signature(of: sealed), default: []].append(self.entries.count) }
        self.entries.append(Entry(number: self.lastNumber, intent: intent, tag: tag, key: key, sealed: sealed))
    }

    func receipts(_ query: ReceiptQuery) -> ReceiptPage {
        switch query {
        case .open(let id):
            self.page(.max) { entry in entry.isOpen && id.map { $0 == entry.sealed.activationID } ?? true }
        case .openSelected: ReceiptPage(rows: [])  // only an auditor asks, who erases
        case .entries(let number, let limit): self.page(limit) { $0.number > number }
        case .receipts(let id, let number, let limit):
            self.page(limit) { entry in
                entry.intent == nil && entry.number > number && id.map { $0 == entry.sealed.activationID } ?? true
            }
        }
    }

    private func page(_ limit: Int, where isWanted: (Entry) -> Bool) -> ReceiptPage {
        let rows = self.entries.lazy.filter(isWanted).prefix(max(0, limit)).map { entry in
            ReceiptRow(
                number: entry.number,
                tag: entry.tag,
                intent: entry.intent,
                key: entry.key,
                sealed: entry.sealed,
                outcome: entry.outcome.map { ReceiptRow.Outcome(key: $0.key, sealed: $0.sealed) }
            )
        }
        let found = Array(rows)
        return ReceiptPage(rows: found, end: found.count < limit ? nil : found.last?.number)
    }
}

extension LoadedRow {
    fileprivate func after(_ change: RowChange) -> Self {
        var row = self
        (row.tag, row.key, row.comparedEpoch) = (change.newTag, change.key, change.comparedEpoch)
        row.sealed = self.sealed.applying(change.fields)
        row.format = change.format ?? self.format
        return row
    }
}

extension Judge.Signature {
    fileprivate init(of receipt: SealedReceipt) { self.init(activationID: receipt.activationID, move: receipt.moves) }
}
