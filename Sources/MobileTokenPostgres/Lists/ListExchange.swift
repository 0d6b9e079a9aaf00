import Basics
import Coordination
import MobileToken
import PostgresDatabase
import PowerAuth
import Synchronization

/// Carries lists between this node and the others, through the table of lists.
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
    }

    /// Between two rounds of writing, and between two notifications.
    private static let writingPause = Duration.milliseconds(100)
    /// Before another attempt at what failed.
    private static let failurePause = Duration.seconds(1)

    private let store: ActivationStore
    private let driver: PostgresDriver
    private let clock: ServiceClock
    /// `nil` where sessions cannot listen.
    private let notifications: Notifications?
    /// The time between two readings without a notification.
    private let interval: Duration
    private let state = Mutex(State())
    /// Raised when there is something to be written.
    private let writeSignal = Signal()
    /// Taken while lists are written: two writers could give the database the older of two lists last.
    private let turn = Signal(isRaised: true)

    init(_ store: ActivationStore, _ driver: PostgresDriver, clock: ServiceClock) {
        self.store = store
        self.driver = driver
        self.clock = clock
        self.notifications = driver.configuration.pollOnly ? nil : driver.listNotifications(clock)
        self.interval = driver.configuration.pollOnly ? .seconds(1) : .seconds(5)
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
            guard let lease = self.driver.node.reliableLease else { throw NoLease() }
            let listings = self.state.withLock { $0.lists.takePending(ListTable.pageSize) }
            if listings.isEmpty { break }
            do {
                let (isWritten, shared) = try await self.write(listings, as: lease)
                hasWritten = isWritten || hasWritten
                for listing in shared { await receiver.show(listing) }
            } catch {
                self.state.withLock { $0.lists.recordFailure(listings) }
                throw error
            }
        }
        guard hasWritten, let notifications else { return }
        try await self.driver.withConnection { try ListTable.notify(notifications.channel, $0) }
    }

    /// - Returns: `true` if anything was written, and the lists that are shared by now.
    private func write(
        _ listings: [FleetListing],
        as lease: NodeLease
    ) async throws -> (isWritten: Bool, shared: [FleetListing]) {
        let keys = try await self.store.opened().keys
        let changes = try listings.map { listing in
            let body = try keys.currentSealing.seal(listing.json, as: ListTable.name, of: listing.activationID)
            return ListTable.Change(activationID: listing.activationID, body: body)
        }
        let written = try await self.driver.withConnection { connection in
            try ListTable.write(changes, as: lease, key: keys.current, connection)
        }
        let shared = self.state.withLock { state in
            state.cursor.record(written.map(\.place))
            let versions = written.map { (ExactString($0.activationID), $0.place.version) }
            return state.lists.wrote(listings, accepted: Dictionary(versions) { $1 })
        }
        return (!written.isEmpty, shared)
    }

    // MARK: Reading

    private func readAll(_ receiver: ListReceiver) async {
        var hasRead = false
        while !Task.isCancelled {
            do {
                // The first wait ends at once, when listening begins: what was written since the first reading is found then.
                if hasRead { try await self.waitForNews() }
                try await self.read(receiver)
                hasRead = true
            } catch {
                hasRead = false
                guard !Task.isCancelled else { return }
                let mapped = MobileTokenError.mapped(error, schema: self.driver.configuration.schema)
                if let error = mapped as? MobileTokenError { await receiver.failed(error) }
                self.state.withLock { state in
                    // It may be another database that answers next.
                    state.cursor = ListCursor()
                    state.lists.startOver()
                }
                await self.pause(Self.failurePause)
            }
        }
    }

    private func waitForNews() async throws {
        if let notifications {
            try await notifications.wait(atMost: self.interval)
        } else {
            try await self.clock.sleep(until: self.clock.now + self.interval)
        }
    }

    private func read(_ receiver: ListReceiver) async throws {
        try await self.store.open()
        while true {
            let cursor = self.state.withLock { $0.cursor }
            let page = try await self.driver.withConnection(isCancelable: true) { connection in
                try ListTable.read(after: cursor, connection)
            }
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

    private func apply(_ page: ListTable.Page) -> ListCursor.Step {
        let now = self.clock.now
        return self.state.withLock { state in
            state.oldestTransactionAge = state.transactionAge.record(page.horizon, at: now)
            let isFull = page.rows.count == ListTable.pageSize
            let step = state.cursor.apply(page.rows.map(\.place), at: page.horizon, isFull: isFull)
            if step == .startOver { state.lists.startOver() }
            return step
        }
    }

    /// One list that cannot be opened is no other one's trouble: it is shown when it changes next.
    private func show(_ rows: [ListTable.Row], _ receiver: ListReceiver) async {
        for row in rows {
            guard let listing = try? await self.open(row) else { continue }
            let isNews = self.state.withLock { $0.lists.read(listing, version: row.place.version) }
            if isNews { await receiver.show(listing) }
        }
    }

    private func open(_ row: ListTable.Row) async throws -> FleetListing {
        let sealing = try await self.store.sealing(row.sealingKey)
        let json = try sealing.open(row.body, as: ListTable.name, of: row.activationID)
        return try FleetListing(activationID: row.activationID, parsing: json)
    }
}
