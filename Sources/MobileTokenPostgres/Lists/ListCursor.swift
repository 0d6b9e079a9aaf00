/// The place of a row of a list.
package struct ListPlace: Sendable, Equatable {
    /// The activation.
    package let slot: Int64
    /// Every write makes another one.
    package let version: Int64
    /// The transaction that wrote it.
    package let transaction: Int64

    package init(slot: Int64, version: Int64, transaction: Int64) {
        self.slot = slot
        self.version = version
        self.transaction = transaction
    }
}

/// The transactions that a reading found, whatever database of the server they are of.
package struct ListHorizon: Sendable, Equatable {
    /// All before this one had ended, and could be seen.
    let oldest: Int64
    /// The next one to begin.
    let next: Int64
    /// The epoch of the database.
    let epoch: DatabaseEpoch.Identity

    package init(oldest: Int64, next: Int64, epoch: DatabaseEpoch.Identity) {
        self.oldest = oldest
        self.next = next
        self.epoch = epoch
    }
}

/// The place up to which the lists were read.
///
/// Numbers are not given in the order in which transactions commit. So a reading begins where the oldest transaction stood that
/// was under way at the last one, and passes over versions that were seen. A long transaction costs that much, and no delay.
package struct ListCursor: Sendable, Equatable {
    /// The step after a page.
    enum Step: Equatable {
        /// Read on: there may be more.
        case readOn
        /// All was read that there is.
        case finish
        /// Forget the page, and read everything from the beginning: the database is another one.
        case startOver
    }

    /// The place at which the next reading begins.
    package struct Start: Sendable, Equatable {
        package var transaction: Int64 = 0
        package var slot: Int64 = 0
    }

    package private(set) var start = Start()
    /// The rows that were seen at or past the start of the next reading.
    package private(set) var seen: [ListPlace] = []
    /// The horizon at the beginning of a reading of several pages.
    private var horizon: ListHorizon?
    private var last: ListHorizon?

    /// Takes in a page.
    ///
    /// - Parameter isFull: `true` if the page is full, so that another one may follow.
    mutating func apply(_ places: [ListPlace], at now: ListHorizon, isFull: Bool) -> Step {
        if let before = self.horizon ?? self.last, before.epoch != now.epoch || before.next > now.next {
            self = ListCursor()
            return .startOver
        }
        let horizon = self.horizon ?? now
        self.record(places)
        if isFull, let last = places.last {
            self.horizon = horizon
            self.start = Start(transaction: last.transaction, slot: last.slot + 1)
            return .readOn
        }
        self.horizon = nil
        self.last = horizon
        self.start = Start(transaction: horizon.oldest)
        self.seen.removeAll { $0.transaction < horizon.oldest }
        return .finish
    }

    /// Passes over what this node has written, except while everything is read from the beginning: what is not found then counts as
    /// gone.
    mutating func passOver(written places: [ListPlace]) {
        if self.last != nil { self.record(places) }
    }

    private mutating func record(_ places: [ListPlace]) {
        var seen = Dictionary(self.seen.map { ($0.slot, $0) }, uniquingKeysWith: { $1 })
        for place in places where (seen[place.slot]?.version ?? .min) < place.version { seen[place.slot] = place }
        self.seen = Array(seen.values)
    }
}
