internal import BoundedNumbers
package import Foundation

/// Which operations expire next, and when to report them. It decides; ``ExpirationWatcher`` sleeps and reports.
///
/// Deadlines are server dates, waiting is done on a monotonic clock: at every step the distance between the two is taken
/// anew, and no sleep is longer than ``longestSleep``, so a wall clock that is set forward or back is noticed.
package struct ExpirationQueue: Sendable {
    /// Reports are at least this far apart.
    package static let reportInterval = Duration.seconds(5)
    /// How late a jump of the wall clock may be noticed.
    package static let longestSleep = Duration.seconds(30)

    package enum Step: Equatable, Sendable {
        case report([UserOperation])
        case sleep(until: Duration)
        /// Nothing is watched.
        case wait
    }

    private struct Deadline: Comparable {
        let date: Date
        let operation: UserOperation.Identity

        static func < (one: Self, other: Self) -> Bool { one.date < other.date }
    }

    private var watched: [UserOperation.Identity: UserOperation] = [:]
    /// One deadline for every operation watched, and some of operations that are not any more.
    private var deadlines = Heap<Deadline>()
    private var lastReport: Duration?

    package init() {}

    package var count: Int { self.watched.count }

    /// Deadlines kept, those that do not count any more included.
    package var deadlineCount: Int { self.deadlines.count }

    /// Watches operations. One that is watched already is replaced, and keeps its place when its time did not change.
    package mutating func add(_ operations: [UserOperation]) {
        if operations.count > self.watched.capacity { self.watched.reserveCapacity(operations.count) }
        for operation in operations {
            let known = self.watched.updateValue(operation, forKey: operation.identity)
            guard known?.expires != operation.expires else { continue }
            self.deadlines.insert(Deadline(date: operation.expires, operation: operation.identity))
        }
        self.compact()
    }

    package mutating func remove(_ operations: [UserOperation]) {
        for operation in operations { self.watched[operation.identity] = nil }
        self.compact()
    }

    package mutating func removeAll() {
        self.watched = [:]
        self.deadlines = Heap()
    }

    /// What to do at `now`, when the server's clock shows `serverDate`. What is reported is not watched any more.
    package mutating func step(at now: Duration, serverDate: Date) -> Step {
        guard let first = self.earliest() else { return .wait }
        let left = max(.zero, Duration(boundedSeconds: first.timeIntervalSince(serverDate)))
        let allowed = self.lastReport.map { $0 + Self.reportInterval } ?? now
        if left == .zero, allowed <= now {
            self.lastReport = now
            return .report(self.removeExpired(at: serverDate))
        }
        return .sleep(until: max(allowed, now + min(left, Self.longestSleep)))
    }

    private mutating func removeExpired(at serverDate: Date) -> [UserOperation] {
        var expired: [UserOperation] = []
        while let date = self.earliest(), date <= serverDate, let deadline = self.deadlines.removeMin() {
            if let operation = self.watched.removeValue(forKey: deadline.operation) { expired.append(operation) }
        }
        return expired
    }

    /// The earliest deadline that still counts.
    private mutating func earliest() -> Date? {
        while let deadline = self.deadlines.min {
            if self.watched[deadline.operation]?.expires == deadline.date { return deadline.date }
            self.deadlines.removeMin()
        }
        return nil
    }

    /// Keeps deadlines that do not count any more from piling up.
    private mutating func compact() {
        guard self.deadlines.count > 2 * self.watched.count + 16 else { return }
        self.deadlines = Heap(self.watched.values.map { Deadline(date: $0.expires, operation: $0.identity) })
    }
}
