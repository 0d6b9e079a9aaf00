import Basics
import Coordination
import MobileToken
import PowerAuth
import Synchronization

/// Carries lists between this node and the others, through the database.
///
/// Two tasks work side by side: one writes what was polled here, and gives a notification when it is done; the other reads when there is
/// a notification, and from time to time, since notifications get lost.
final class ListExchange: Sendable {
    private struct State {
        var lists = SharedLists()
        var cursor = ListCursor()
        var transactionAge = TransactionAge()
        var oldestTransactionAge = Duration.zero
        /// The receiver of the caller that follows the lists now.
        var receiver: ListReceiver?

        /// It may be another database that answers next: everything is read anew, and its transactions have other numbers.
        mutating func startOver() {
            self.cursor = ListCursor()
            self.transactionAge = TransactionAge()
            self.lists.startOver()
        }
    }

    /// Between two rounds of writing, and between two notifications.
    private static let writingPause = Duration.milliseconds(100)
    /// Before another attempt at what failed.
    private static let failurePause = Duration.seconds(1)

    private let database: any ListDatabase
    private let node: Node
    private let clock: ServiceClock
    private let state = Mutex(State())
    /// Raised when there is something to be written.
    private let writeSignal = Signal()
    /// Taken while lists are written: two writers could give the database the older of two lists last.
    private let turn = Signal(isRaised: true)

    init(_ database: any ListDatabase, _ node: Node, clock: ServiceClock) {
        self.database = database
        self.node = node
        self.clock = clock
    }

    var oldestTransactionAge: Duration { self.state.withLock { $0.oldestTransactionAge } }

    func last(_ activationID: String) -> FleetListing? { self.state.withLock { $0.lists.last(activationID) } }

    func recordPoll(_ listing: FleetListing) {
        if self.state.withLock({ $0.lists.recordPoll(listing) }) { self.writeSignal.raise() }
    }

    /// Reads and writes until the calling task is canceled.
    func run(_ receiver: ListReceiver) async {
        // Whoever follows anew has seen nothing.
        self.state.withLock { state in
            state.lists.begin()
            state.cursor = ListCursor()
            state.receiver = receiver
        }
        defer { self.state.withLock { $0.receiver = nil } }
        await withTaskGroup { group in
            group.addTask { await self.writeAll(receiver) }
            group.addTask { await self.readAll(receiver) }
        }
    }

    /// Lists for which there is no lease are written when there is one again.
    private struct NoLease: Error {}

    private func pause(_ duration: Duration) async {
        try? await self.clock.sleep(until: self.clock.now + duration)
    }

    // MARK: Writing

    private func writeAll(_ receiver: ListReceiver) async {
        while !Task.isCancelled, await self.writeSignal.wait() {
            do {
                try await self.writePending(receiver)
                await self.pause(Self.writingPause)
            } catch {
                if let error = error as? MobileTokenError { await receiver.failed(error) }
                await self.pause(Self.failurePause)
                self.writeSignal.raise()
            }
        }
    }

    /// Writes what was polled so far, as far as the database lets it: once buckets are given back, their lists are refused, and this
    /// node would show those of before.
    func writeKeptLists() async {
        guard let receiver = self.state.withLock({ $0.receiver }) else { return }
        do {
            try await self.writePending(receiver)
        } catch {
            self.writeSignal.raise()
        }
    }

    private func writePending(_ receiver: ListReceiver) async throws {
        guard await self.turn.wait() else { return }
        defer { self.turn.raise() }
        var hasWritten = false
        while true {
            guard let lease = self.node.reliableLease else { throw NoLease() }
            let listings = self.state.withLock { $0.lists.takePending(self.database.pageSize) }
            if listings.isEmpty { break }
            do {
                let written = try await self.database.write(listings, as: lease)
                hasWritten = hasWritten || !written.isEmpty
                for listing in self.record(written, of: listings) { await receiver.show(listing) }
            } catch {
                self.state.withLock { $0.lists.recordFailure(listings) }
                throw error
            }
        }
        if hasWritten { try await self.database.notifyReaders() }
    }

    /// - Returns: The lists that are shared by now.
    private func record(
        _ written: [(activationID: String, place: ListPlace)],
        of listings: [FleetListing]
    ) -> [FleetListing] {
        self.state.withLock { state in
            state.cursor.passOver(written: written.map(\.place))
            let versions = written.map { (ExactString($0.activationID), $0.place.version) }
            return state.lists.wrote(listings, accepted: Dictionary(versions) { $1 })
        }
    }

    // MARK: Reading

    private func readAll(_ receiver: ListReceiver) async {
        var hasRead = false
        while !Task.isCancelled {
            do {
                // The first wait ends at once, when listening begins: what was written since the first reading is found then.
                if hasRead { try await self.database.waitForNews() }
                try await self.read(receiver)
                hasRead = true
            } catch {
                hasRead = false
                guard !Task.isCancelled else { return }
                if let error = error as? MobileTokenError { await receiver.failed(error) }
                self.state.withLock { $0.startOver() }
                await self.pause(Self.failurePause)
            }
        }
    }

    private func read(_ receiver: ListReceiver) async throws {
        while true {
            let page = try await self.database.read(after: self.state.withLock { $0.cursor })
            switch self.apply(page) {
            case .startOver: continue
            case .readOn: await self.show(page.rows, receiver)
            case .finish:
                await self.show(page.rows, receiver)
                let (gone, hasPending) = self.state.withLock { $0.lists.finishedReading() }
                if hasPending { self.writeSignal.raise() }
                for listing in gone { await receiver.show(listing) }
                return
            }
        }
    }

    private func apply(_ page: ListPage) -> ListCursor.Step {
        let now = self.clock.now
        return self.state.withLock { state in
            let step = state.cursor.apply(page.rows.map(\.place), at: page.horizon, isFull: page.isFull)
            if step == .startOver { state.startOver() }
            state.oldestTransactionAge = state.transactionAge.record(page.horizon, at: now)
            return step
        }
    }

    private func show(_ rows: [ListPage.Row], _ receiver: ListReceiver) async {
        for row in rows {
            guard let listing = row.listing else { continue }
            let isNews = self.state.withLock { $0.lists.read(listing, version: row.place.version) }
            if isNews { await receiver.show(listing) }
        }
    }
}
