import Coordination
import MobileToken
import PowerAuth

/// The lists of a PostgreSQL store, sealed in the table of lists.
struct PostgresLists: ListDatabase {
    private let store: ActivationStore
    private let driver: PostgresDriver
    private let clock: ServiceClock
    /// `nil` where sessions cannot listen.
    private let notifications: Notifications?

    init(_ store: ActivationStore, _ driver: PostgresDriver, clock: ServiceClock) {
        self.store = store
        self.driver = driver
        self.clock = clock
        self.notifications = driver.configuration.pollOnly ? nil : driver.listNotifications(clock)
    }

    var pageSize: Int { ListTable.pageSize }

    // MARK: Writing

    func write(
        _ listings: [FleetListing],
        as lease: NodeLease
    ) async throws -> [(activationID: String, place: ListPlace)] {
        let keys = try await self.store.opened().keys
        let changes = try listings.map { listing in
            let body = try keys.currentSealing.seal(listing.json, as: ListTable.name, of: listing.activationID)
            return ListTable.Change(activationID: listing.activationID, body: body)
        }
        return try await self.driver.withConnection { connection in
            try ListTable.write(changes, as: lease, key: keys.current, connection)
        }
    }

    func notifyReaders() async throws {
        guard let notifications else { return }
        try await self.driver.withConnection { try ListTable.notify(notifications.channel, $0) }
    }

    // MARK: Reading

    func waitForNews() async throws {
        // Notifications get lost.
        guard let notifications else { return try await self.clock.sleep(until: self.clock.now + .seconds(1)) }
        try await MobileTokenError.mapping(schema: self.driver.configuration.schema) {
            try await notifications.wait(atMost: .seconds(5))
        }
    }

    func read(after cursor: ListCursor) async throws -> ListPage {
        try await self.store.open()
        let page = try await self.driver.withConnection(isCancelable: true) { connection in
            try ListTable.read(after: cursor, connection)
        }
        var rows: [ListPage.Row] = []
        for row in page.rows { rows.append(.init(place: row.place, listing: try await self.open(row))) }
        return ListPage(horizon: page.horizon, rows: rows, isFull: rows.count == self.pageSize)
    }

    /// - Returns: `nil` for a list that this node cannot read: it is damaged, or sealed with a key that the node does not have.
    /// - Throws: The error that keeps keys from being fetched. The list is read again then.
    private func open(_ row: ListTable.Row) async throws -> FleetListing? {
        let sealing: Sealing
        do {
            sealing = try await self.store.sealing(row.sealingKey)
        } catch let error as MobileTokenError where error.code == .storeWrongSealingKey {
            return nil
        }
        guard let json = try? sealing.open(row.body, as: ListTable.name, of: row.activationID) else { return nil }
        return try? FleetListing(activationID: row.activationID, parsing: json)
    }
}
