import Basics

/// At most so many events in any second, by remembering the latest of them.
///
/// Rates of ten and more are kept in every part of a second too, so that a backlog does not go out in one burst a second.
package struct RateWindow: Sendable {
    /// The number of events that there may be within ``length``.
    package let count: Int
    package let length: Duration
    /// The times of the latest events, the oldest at ``oldest`` once the ring is full.
    private var times: [Duration] = []
    private var oldest = 0

    /// - Parameter rate: Events a second; at least one in a thousand seconds, and at most a million.
    package init(rate: Double) {
        let rate = min(max(rate.isNaN ? 0 : rate, 0.001), 1_000_000)
        self.count = max(1, Int(rate / 10))
        let windows = rate / Double(self.count)
        // Rounded so that a second never holds more than the rate, whatever the rate is divided into.
        self.length = windows < 1 ? .seconds(1 / windows) : Self.part(Int64(windows))
    }

    /// The shortest part of a second of which no more than so many fit into one.
    private static func part(_ count: Int64) -> Duration {
        let second: Int64 = 1_000_000_000_000_000_000
        return Duration(secondsComponent: 0, attosecondsComponent: (second + count - 1) / count)
    }

    /// The earliest time of the next event.
    package var next: Duration {
        self.times.count < self.count ? .zero : self.times[self.oldest] + self.length
    }

    /// Counts an event, which happens although it may be too early.
    package mutating func take(at now: Duration) {
        if self.times.count < self.count {
            self.times.append(now)
        } else {
            self.times[self.oldest] = now
            self.oldest = (self.oldest + 1) % self.count
        }
    }

    /// Notes that an event that was counted did not happen yet, or happened later than it was counted.
    package mutating func move(_ time: Duration, to later: Duration) {
        guard time < later else { return }
        var inOrder = Array(self.times[self.oldest...] + self.times[..<self.oldest])
        if let index = inOrder.lastIndex(of: time) {
            inOrder.remove(at: index)
        } else {
            inOrder = inOrder.suffix(self.count - 1)
        }
        (self.times, self.oldest) = (inOrder + [later], 0)
    }

    /// Forgets an event that was counted and did not happen.
    package mutating func giveBack(_ time: Duration) {
        var inOrder = Array(self.times[self.oldest...] + self.times[..<self.oldest])
        guard let index = inOrder.lastIndex(of: time) else { return }
        inOrder.remove(at: index)
        // The event whose place it took was earlier than that by the length at least.
        if self.times.count == self.count { inOrder.insert(min(inOrder.first ?? time, time - self.length), at: 0) }
        (self.times, self.oldest) = (inOrder, 0)
    }

    /// The same events at another rate.
    package func changed(to rate: Double) -> Self {
        var changed = Self(rate: rate)
        let inOrder = self.times[self.oldest...] + self.times[..<self.oldest]
        for time in inOrder.suffix(changed.count) { changed.take(at: time) }
        return changed
    }
}
