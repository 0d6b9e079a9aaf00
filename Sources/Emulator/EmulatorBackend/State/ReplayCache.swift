/// The tags of accepted requests, which are refused while their timestamps are valid.
struct ReplayCache: Sendable, Codable, Equatable {
    /// The maximum number of entries; beyond it, those that expire first are dropped. No honest client sends as many within a
    /// window.
    static let capacity = 100_000

    /// For the data file.
    var expirations = Table<Milliseconds>()
    /// The earliest time of the next sweep of expired entries.
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
    /// Remembers an accepted value.
    ///
    /// - Parameter now: The clock of the request. A fast one removes no entries.
    mutating func forbidReplay(of value: String, until expiration: Milliseconds, at now: Milliseconds) {
        self.state.replays.insert(value, until: expiration, at: min(now, self.settledUntil))
    }
}
