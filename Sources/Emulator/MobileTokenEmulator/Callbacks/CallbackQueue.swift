import Coordination
import EmulatorBackend
import Foundation
import Synchronization

/// Thread-safe queue of deliveries to the bank, shared by the core and the courier.
final class CallbackQueue: Sendable {
    /// Distinguishes the numbers of this run of the server from those of another.
    let runID = UUID().uuidString
    private let state: Mutex<Outbox>
    private let work = Signal()

    init(capacity: Outbox.Capacity = Outbox.Capacity()) { self.state = Mutex(Outbox(capacity: capacity)) }

    /// A snapshot of the deliveries.
    var outbox: Outbox { self.state.withLock { $0 } }

    /// Changes the deliveries, and wakes the courier.
    func change<Result: Sendable>(_ change: (inout Outbox) -> Result) -> Result {
        defer { self.work.raise() }
        return self.state.withLock { change(&$0) }
    }

    func wakeIfDue(at now: Milliseconds) {
        let isDue = self.state.withLock { $0.nextDue.map { $0 <= now } ?? false }
        if isDue { self.work.raise() }
    }

    /// Waits until a delivery may be due.
    ///
    /// - Returns: `false` if the calling task was canceled.
    func waitForWork() async -> Bool { await self.work.wait() }

    func takeDue(at now: Milliseconds) -> [Outbox.Delivery] { self.state.withLock { $0.takeDue(at: now) } }
}
