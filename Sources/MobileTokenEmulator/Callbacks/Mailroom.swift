import Coordination
import EmulatorBackend
import Foundation
import Synchronization

/// The deliveries to the bank, where those who have something to tell and the one who carries it meet.
final class Mailroom: Sendable {
    /// Tells the numbers that this run of the server gives from those of another one.
    let runID = UUID().uuidString
    private let state: Mutex<Outbox>
    private let work = Signal()

    init(capacity: Outbox.Capacity = Outbox.Capacity()) { self.state = Mutex(Outbox(capacity: capacity)) }

    /// The deliveries at this moment, to read from.
    var outbox: Outbox { self.state.withLock { $0 } }

    /// Changes the deliveries, and lets the courier look at them.
    func change<Result: Sendable>(_ change: (inout Outbox) -> Result) -> Result {
        defer { self.work.raise() }
        return self.state.withLock { change(&$0) }
    }

    /// Lets the courier look, if there is something to deliver by now.
    func wakeIfDue(at now: Milliseconds) {
        let isDue = self.state.withLock { $0.nextDue.map { $0 <= now } ?? false }
        if isDue { self.work.raise() }
    }

    /// Waits until there may be something to deliver.
    ///
    /// - Returns: `false` when the calling task was canceled.
    func waitForWork() async -> Bool { await self.work.wait() }

    /// Returns the deliveries to send now.
    func takeDue(at now: Milliseconds) -> [Outbox.Delivery] { self.state.withLock { $0.takeDue(at: now) } }
}
