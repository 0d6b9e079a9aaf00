/// The age of the oldest transaction of the server, as far as readings can tell.
///
/// No role needs a right for it, and it sees the transactions of other databases and prepared ones, which keep vacuum from its
/// work as well.
struct TransactionAge: Sendable {
    private static let markLimit = 1_024

    /// When which transaction was the next to begin: the first of them that is past the oldest one tells that it had begun.
    private var marks: [(next: Int64, time: Duration)] = []

    /// Takes in a reading.
    ///
    /// - Returns: At least how old the oldest transaction is; zero when none is under way.
    mutating func record(_ horizon: ListHorizon, at now: Duration) -> Duration {
        self.marks.removeAll { $0.next <= horizon.oldest }
        if horizon.oldest < horizon.next, self.marks.last.map({ $0.next < horizon.next }) ?? true {
            self.marks.append((horizon.next, now))
            if self.marks.count > Self.markLimit { self.thinOut() }
        }
        return self.marks.first.map { now - $0.time } ?? .zero
    }

    /// Drops every other mark but the first, which makes the age of later transactions less exact.
    private mutating func thinOut() {
        self.marks = self.marks.enumerated().filter { $0.offset.isMultiple(of: 2) }.map(\.element)
    }
}
