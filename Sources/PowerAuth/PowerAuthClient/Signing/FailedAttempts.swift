/// The server's count of failed attempts, as known to this process. A counted refusal means wrong factors.
struct FailedAttempts: Sendable, Equatable {
    /// The last known count, initially zero, so that a doubt counts as a failure.
    private var known = 0

    /// Records a count, or zero after an accepted signature.
    mutating func learn(_ count: Int) { self.known = count }

    /// Records the count after a refusal, and returns whether the refusal was counted.
    mutating func rise(to count: Int) -> Bool {
        defer { self.known = count }
        return self.isBelow(count)
    }

    /// Returns whether `count` exceeds the known count.
    func isBelow(_ count: Int) -> Bool { self.known < count }
}
