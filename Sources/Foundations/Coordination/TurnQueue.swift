import Basics

/// Decides the order of turns: first come, first served. A wider queue allows several at once.
///
/// It only decides; its owner resumes the waiters. Each waiter is returned exactly once.
public struct TurnQueue<Waiter: Sendable>: Sendable {
    private let width: Int
    private var turns = 0
    private var waiters: [UInt64: Waiter] = [:]
    /// The order of arrival. Numbers without a waiter are skipped.
    private var order = FIFO<UInt64>()

    /// Creates a queue with this many concurrent turns.
    public init(width: Int = 1) {
        self.width = width
    }

    /// The number of waiters.
    public var waitingCount: Int { self.waiters.count }
    /// Indicates whether any turn is taken.
    public var isBusy: Bool { self.turns > 0 }

    /// Requests a turn. Waiters precede newcomers.
    ///
    /// - Returns: `false` if the caller has to wait: register with ``wait(_:as:)``.
    public mutating func enter() -> Bool {
        guard self.turns < self.width else { return false }
        self.turns += 1
        return true
    }

    /// Appends a waiter.
    public mutating func wait(_ waiter: Waiter, as number: UInt64) {
        self.waiters[number] = waiter
        self.order.append(number)
    }

    /// Ends a turn and returns the waiter that gets it, without freeing it in between.
    public mutating func leave() -> Waiter? {
        while let number = self.order.popFirst() {
            if let waiter = self.waiters.removeValue(forKey: number) { return waiter }
        }
        self.turns = max(0, self.turns - 1)
        return nil
    }

    /// Removes a waiter; `nil` if it has its turn already or was never registered.
    public mutating func withdraw(_ number: UInt64) -> Waiter? {
        self.waiters.removeValue(forKey: number)
    }
}
