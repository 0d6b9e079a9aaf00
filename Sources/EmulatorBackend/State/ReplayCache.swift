/// The tags of accepted requests, which must not be accepted again for as long as their timestamps would let them pass.
struct ReplayCache: Sendable, Codable, Equatable {
    /// Beyond this, the entries that expire first make room. No honest client sends as much within a window.
    static let capacity = 100_000

    /// For the data file.
    var expirations = Table<Milliseconds>()
    /// Entries are dropped in one sweep; this is when the next one pays off.
    private var nextSweep: Milliseconds = 0

    private enum CodingKeys: CodingKey { case expirations }

    func contains(_ value: String, at now: Milliseconds) -> Bool {
        self.expirations[value].map { $0 >= now } ?? false
    }

    mutating func insert(_ value: String, until expiration: Milliseconds, at now: Milliseconds) {
        if self.expirations.count >= Self.capacity || now >= self.nextSweep { self.sweep(at: now) }
        self.expirations[value] = expiration
    }

    private mutating func sweep(at now: Milliseconds) {
        self.expirations.removeAll { $0 < now }
        if self.expirations.count >= Self.capacity { self.expirations.keepFirst(Self.capacity / 2, by: >) }
        self.nextSweep = now + 60_000
    }

    var count: Int { self.expirations.count }
}

extension Backend {
    /// Remembers what was accepted once.
    ///
    /// - Parameter now: The clock of the request. If that is fast, nothing is forgotten by it.
    mutating func forbidReplay(of value: String, until expiration: Milliseconds, at now: Milliseconds) {
        self.state.replays.insert(value, until: expiration, at: min(now, self.settledUntil))
    }
}
