/// Who may sign with an activation, and who comes next: first come, first served.
///
/// It only decides. The waiters are whatever the owner resumes; each comes out exactly once.
struct TurnQueue<Waiter: Sendable>: Sendable {
    private var isHeld = false
    private var waiters: [UInt64: Waiter] = [:]
    /// The order of arrival. Numbers whose waiter left are skipped when their turn comes.
    private var order: ArraySlice<UInt64> = []

    /// How many wait.
    var waitingCount: Int { self.waiters.count }
    /// Whether somebody has the turn.
    var isBusy: Bool { self.isHeld }

    enum EnterAction: Equatable {
        /// The turn is the caller's.
        case proceed
        /// Others are before; register with ``wait(_:as:)``.
        case wait
    }

    /// Asks for the turn. Whoever waits is always before somebody new.
    mutating func enter() -> EnterAction {
        guard self.isHeld else {
            self.isHeld = true
            return .proceed
        }
        return .wait
    }

    /// Puts a waiter at the end of the queue.
    mutating func wait(_ waiter: Waiter, as number: UInt64) {
        self.waiters[number] = waiter
        self.order.append(number)
    }

    /// Ends a turn and returns the waiter whose turn it is now; the turn passes on without ever being free in between.
    mutating func leave() -> Waiter? {
        while let number = self.order.popFirst() {
            if let waiter = self.waiters.removeValue(forKey: number) { return waiter }
        }
        self.order = []
        self.isHeld = false
        return nil
    }

    /// A waiter gives up. `nil` when it has its turn already, or was never registered.
    mutating func withdraw(_ number: UInt64) -> Waiter? {
        self.waiters.removeValue(forKey: number)
    }
}
