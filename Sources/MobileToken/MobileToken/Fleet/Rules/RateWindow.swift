/// A limit on the events in any second, which remembers the latest ones.
///
/// Rates of ten and more also limit each part of a second, so that a backlog does not leave in one burst per second.
package struct RateWindow: Sendable {
    /// The maximum number of events within ``length``.
    package let count: Int
    package let length: Duration
    /// The times of the latest events, a ring with the oldest at ``oldest`` once it is full.
    private var times: [Duration] = []
    private var oldest = 0

    /// - Parameter rate: Events per second, limited to 0.001 through 1 000 000.
    package init(rate: Double) {
        let rate = min(max(rate.isNaN ? 0 : rate, 0.001), 1_000_000)
        self.count = max(1, Int(rate / 10))
        let windows = rate / Double(self.count)
        // Rounded so that a second never holds more than the rate.
        self.length = windows < 1 ? .seconds(1 / windows) : Self.part(Int64(windows))
    }

    /// The shortest part of a second that fits into one at most `count` times.
    private static func part(_ count: Int64) -> Duration {
        let second: Int64 = 1_000_000_000_000_000_000
        return Duration(secondsComponent: 0, attosecondsComponent: (second + count - 1) / count)
    }

    /// Returns the earliest time of the next event.
    ///
    /// - Parameter pending: The number of events that have a permit, and may happen at any time from now on.
    package func next(at now: Duration, pending: Int = 0) -> Duration {
        let free = self.count - pending
        guard free > 0 else { return now + self.length }
        guard free <= self.times.count else { return .zero }
        return self.times[(self.oldest + self.times.count - free) % self.times.count] + self.length
    }

    /// Counts an event, even one that is too early.
    package mutating func take(at now: Duration) {
        if self.times.count < self.count {
            self.times.append(now)
        } else {
            self.times[self.oldest] = now
            self.oldest = (self.oldest + 1) % self.count
        }
    }

    /// Removes a counted event that did not happen.
    package mutating func giveBack(_ time: Duration) {
        var inOrder = Array(self.times[self.oldest...] + self.times[..<self.oldest])
        guard let index = inOrder.lastIndex(of: time) else { return }
        inOrder.remove(at: index)
        // The event that it displaced was at least `length` earlier.
        if self.times.count == self.count { inOrder.insert(min(inOrder.first ?? time, time - self.length), at: 0) }
        (self.times, self.oldest) = (inOrder, 0)
    }

    /// Returns the same events at another rate.
    package func changed(to rate: Double) -> Self {
        var changed = Self(rate: rate)
        let inOrder = self.times[self.oldest...] + self.times[..<self.oldest]
        for time in inOrder.suffix(changed.count) { changed.take(at: time) }
        return changed
    }
}
