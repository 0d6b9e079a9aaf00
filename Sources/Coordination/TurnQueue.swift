import Basics

/// The order in which tasks have their turns: first come, first served. A wider queue gives that many turns at once.
///
/// It only decides; its owner resumes the waiters. Each waiter comes out exactly once.
public struct TurnQueue<Waiter: Sendable>: Sendable {
    /// The number of turns at once.
    private let width: Int
    private var turns = 0
    private var waiters: [UInt64: Waiter] = [:]
    /// The order of arrival. Numbers whose waiter left are skipped when their turn comes.
    private var order = FIFO<UInt64>()

    /// Creates a queue in which so many have a turn at once.
    public init(width: Int = 1) {
        self.width = width
    }

    /// The number of waiters.
    public var waitingCount: Int { self.waiters.count }
    /// Indicates whether any turn is taken.
    public var isBusy: Bool { self.turns > 0 }

    /// Asks for the turn. Waiters are always before newcomers.
    ///
    /// - Returns: `false` when others are before. Register with ``wait(_:as:)`` then.
    public mutating func enter() -> Bool {
        guard self.turns < self.width else { return false }
        self.turns += 1
        return true
    }

    /// Puts a waiter at the end of the queue.
    public mutating func wait(_ waiter: Waiter, as number: UInt64) {
        self.waiters[number] = waiter
        self.order.append(number)
    }

    /// Ends a turn and returns the waiter whose turn it is now; the turn passes on without ever being free in between.
    public mutating func leave() -> Waiter? {
        while let number = self.order.popFirst() {
            if let waiter = self.waiters.removeValue(forKey: number) { return waiter }
        }
        self.turns = max(0, self.turns - 1)
        return nil
    }

    /// A waiter gives up. `nil` when it has its turn already, or was never registered.
    public mutating func withdraw(_ number: UInt64) -> Waiter? {
        self.waiters.removeValue(forKey: number)
    }
}
