import Basics
import PowerAuthProtocol

/// Counters of accepted codes, for the diagnosis of a client that went back.
///
/// Counters only move forward, so two marks suffice: all later counters can be computed from the older one.
struct PastCounters<Counter: ForwardCounter>: Sendable {
    private struct Mark {
        let counter: Counter
        /// The number of steps from this counter to the current one.
        var distance: Int
    }

    /// The distance between two marks.
    private static var interval: Int { 64 }
    /// The maximum number of steps to recompute.
    private static var reach: Int { 1024 }

    /// The marks, older one first.
    private var marks: [Mark] = []

    /// Notes a counter step.
    ///
    /// - Parameter counter: The previous counter.
    mutating func note(_ counter: Counter, movedBy steps: Int) {
        if self.marks.last.map({ $0.distance >= Self.interval }) ?? true {
            self.marks.append(Mark(counter: counter, distance: 0))
        }
        for index in self.marks.indices {
            self.marks[index].distance = self.marks[index].distance.addingSaturated(steps)
        }
        while let oldest = self.marks.first, self.marks.count > 2 || oldest.distance > Self.reach {
            self.marks.removeFirst()
        }
    }

    /// The earlier counters, oldest first, with their distance in steps.
    var oldestFirst: [(counter: Counter, stepsBehind: Int)] {
        guard let oldest = self.marks.first else { return [] }
        var counter = oldest.counter
        return (0..<oldest.distance).map { step in
            defer { counter = counter.next() }
            return (counter, oldest.distance - step)
        }
    }
}
