import Basics
import PowerAuthProtocol

/// Counters that codes were accepted for, so that a code of a client that went back can be explained.
///
/// Counters lead forward only, so two marks on the way suffice: all that came after the older one can be computed.
struct PastCounters<Counter: ForwardCounter>: Sendable {
    private struct Mark {
        let counter: Counter
        /// The number of steps from this counter to the present one.
        var distance: Int
    }

    /// The distance between two marks.
    private static var interval: Int { 64 }
    /// The longest way that is computed anew.
    private static var reach: Int { 1024 }

    /// The older one first.
    private var marks: [Mark] = []

    /// Notes that the counter has moved.
    ///
    /// - Parameter counter: The counter before.
    mutating func note(_ counter: Counter, movedBy steps: Int) {
        if self.marks.last.map({ $0.distance >= Self.interval }) ?? true {
            self.marks.append(Mark(counter: counter, distance: 0))
        }
        for index in self.marks.indices {
            self.marks[index].distance = self.marks[index].distance.addingSaturated(steps)
        }
        self.marks = self.marks.suffix(2).filter { $0.distance <= Self.reach }
    }

    /// The counters behind the present one, the oldest first, and how many steps each is behind.
    var oldestFirst: [(counter: Counter, stepsBehind: Int)] {
        guard let oldest = self.marks.first else { return [] }
        var counter = oldest.counter
        return (0..<oldest.distance).map { step in
            defer { counter = counter.next() }
            return (counter, oldest.distance - step)
        }
    }
}
