import Coordination
import Foundation
import PostgresDatabase
import PowerAuth
import Synchronization

/// Keeps sealed rows in PostgreSQL for any number of nodes.
package final class PostgresDriver: JournalDriver {
    package let configuration: PostgresConfiguration
    let pool: PostgresPool
    /// One connection for heartbeats.
    private let keeperPool: PostgresPool
    package let node: Node
    let clock: ServiceClock
    /// Concurrent changes of different activations share one durable commit.
    let durable: SharedTransactions<Never>
    /// The same for changes that charge limits: each waits for the commit of the one before, so they had better share it.
    let charging: SharedTransactions<LimitCharges>
    /// The same for changes that a server crash may undo.
    let relaxed: SharedTransactions<Never>
    private let marks = Mutex<HighWaterMarks?>(nil)

    init(_ configuration: PostgresConfiguration) {
        self.configuration = configuration
        let clock = ServiceClock(configuration.clock)
        var options = PostgresConnection.Options()
        options.statementTimeout = configuration.statementTimeout
        options.preparesStatements = !configuration.pollOnly
        options.searchPath = configuration.schema
        let check: PostgresPool.Check = { try DatabaseEpoch.check(new: $0) }
        let pool = PostgresPool(size: configuration.poolSize, options: options, check: check) {
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
        // A late heartbeat is useless, so another connection and attempt are better.
        let patience = configuration.lifetimes.death / 2
        options.statementTimeout = min(options.statementTimeout, patience / 2)
        options.grace = min(options.grace, patience / 2)
        let keeperPool = PostgresPool(size: 1, options: options, listens: true, check: check) {
            try await configuration.target(connectTimeout: min(configuration.connectTimeout, patience))
        }
        let handoverRequests = Notifications(
            schema: configuration.schema,
            pool: keeperPool,
            clock: clock
        )
        self.node = Node(
            lifetimes: configuration.lifetimes,
            database: PostgresNodeDatabase(
                name: configuration.nodeName,
                lifetimes: configuration.lifetimes,
                newestFormat: configuration.newestFormat,
                schema: configuration.schema,
                pool: pool,
                keeperPool: keeperPool,
                channel: configuration.pollOnly ? nil : handoverRequests.channel
            ),
            notifications: configuration.pollOnly ? nil : handoverRequests,
            clock: clock
        )
        self.pool = pool
        self.keeperPool = keeperPool
        self.clock = clock
        self.durable = SharedTransactions(in: pool, .durable)
        self.charging = SharedTransactions(in: pool, .durable, runsOneAtATime: true) { StoredLimits.charging($0) }
        self.relaxed = SharedTransactions(in: pool, .relaxed)
    }

    // MARK: Opening and closing

    func open() async throws -> StoreFacts {
        let marks = try await self.openMarks()
        let keys = try await self.withConnection { try SealingKeyTable.read($0) }
        return StoreFacts(
            keys: keys,
            marks: marks,
            isShared: true,
            mayLoseOutcomes: true,
            patience: self.configuration.connectTimeout
        )
    }

    private func openMarks() async throws -> HighWaterMarks {
        if let marks = self.marks.withLock({ $0 }) { return marks }
        guard self.configuration.lifetimes.areUsable else {
            throw MobileTokenError(.invalidConfiguration, "lifetimes: a death must come after two heartbeats at least")
        }
        try await self.prepare(migrates: self.configuration.migrates)
        let identifier = try await self.withConnection { connection in
            try DatabaseEpoch.check(connection)
            return try StoreIdentifier.find(connection)
        }
        let file = try LockFile(creating: "\(self.configuration.markFolder)/\(identifier).marks")
        let marks = HighWaterMarks(in: file)
        self.marks.withLock { $0 = marks }
        return marks
    }

    /// Checks the tables, and creates or migrates them if necessary.
    func prepare(migrates: Bool) async throws {
        let schema = self.configuration.tables
        guard try await self.withConnection({ try schema.needsWork($0, migrates: migrates) }) else { return }
        var options = PostgresConnection.Options()
        options.statementTimeout = .seconds(86_400)
        options.searchPath = self.configuration.schema
        options.preparesStatements = !self.configuration.pollOnly
        let pool = PostgresPool(size: 1, options: options) { [configuration] in
            try await configuration.target(connectTimeout: configuration.connectTimeout)
        }
        let deadline = self.clock.now + .seconds(30)
        try await self.mappingErrors {
            while true {
                do {
                    try await pool.withConnection { try schema.prepare($0, migrates: migrates) }
                    break
                } catch let error as PostgresError where error.refusal == .timeout && self.clock.now < deadline {
                    try await self.clock.sleep(until: self.clock.now + .seconds(1))
                }
            }
        }
        await pool.closeIdleConnections()
    }

    func addKey(_ check: [UInt8], to known: [StoreFacts.Key]) async throws -> [StoreFacts.Key] {
        try await self.withConnection { try SealingKeyTable.add(check, to: known, $0) }
    }

    func close() async {
        await self.node.close()
        await self.keeperPool.closeIdleConnections()
        await self.pool.closeIdleConnections()
    }

    package var counts: (roundTrips: Int, statements: Int) { get async { await self.pool.counts } }

    // MARK: Statements

    /// Runs `body` with a connection, and translates the database's errors.
    func withConnection<Result: Sendable>(
        isCancelable: Bool = false,
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        try await self.mappingErrors { try await self.pool.withConnection(isCancelable: isCancelable, body) }
    }

    /// Runs `body` with the connection for heartbeats, which is free for them and times out early enough for another attempt.
    func withKeeperConnection<Result: Sendable>(
        _ body: @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        try await self.mappingErrors { try await self.keeperPool.withConnection(body) }
    }

    /// Runs statements in order as a transaction that concurrent ones may share.
    ///
    /// - Parameters:
    ///   - share: The same in a transaction with others.
    ///   - opening: Statements at the transaction's beginning, run once for all that ask for the same.
    ///   - closing: The same at its end.
    ///   - slot: The activation whose row they lock: all nodes lock rows in the order of slots.
    func run<Part>(
        _ statements: [PostgresStatement],
        in transactions: SharedTransactions<Part>,
        share: SharedTransactions<Part>.Share? = nil,
        opening: [PostgresStatement] = [],
        closing: [PostgresStatement] = [],
        slot: Int64 = 0
    ) async throws -> [PostgresRows] {
        try await self.mappingErrors {
            try await transactions.run(statements, share: share, opening: opening, closing: closing, place: slot)
        }
    }

    private func mappingErrors<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await MobileTokenError.mapping(schema: self.configuration.schema, body)
    }

    // MARK: Activations

    func load(_ activationID: String) async throws -> LoadedRow? {
        let row = try await self.withConnection { connection in
            try StoredActivation.read(activationID, connection.run([StoredActivation.query(activationID)], .none))
        }
        // For example after an activation was removed and added again. A right dropped by mistake is only requested again.
        self.node.recordHolder(row?.holder, of: activationID)
        return row
    }

    func swap(_ change: RowChange) async throws -> SwapAnswer {
        do {
            let rows: [PostgresRows]
            if let charges = change.charges {
                rows = try await self.run(
                    [change.statement()],
                    in: self.charging,
                    share: .init([change.statement(chargedWithOthers: true)], charges),
                    opening: [StoredLimits.opening],
                    slot: change.slot
                )
            } else {
                rows = try await self.run(
                    [change.statement()],
                    in: self.durable,
                    closing: change.heedsPause ? StoredPause.confirmation : [],
                    slot: change.slot
                )
            }
            if try rows.first?.first?.boolean(0) == true { return .written }
        } catch let error as MobileTokenError where change.heedsPause && StoredPause.stopped(error) {}
        return try await self.obstacle(to: change)
    }

    /// Returns the reason why a change was not written.
    private func obstacle(to change: RowChange) async throws -> SwapAnswer {
        try await self.withConnection { try DatabaseEpoch.check($0) }
        guard let row = try await self.load(change.activationID), row.slot == change.slot else { return .gone }
        guard row.tag == change.tag else { return row.tag == change.newTag ? .written : .otherTag }
        guard row.epoch == change.epoch else { return .otherEpoch }
        if let fence = change.fence, fence != row.holder { return .fenceLost }
        if change.heedsPause, let pause = row.pause { return .paused(pause) }
        if let format = change.format, format > row.format {
            let names = try await self.namesOfNodes(olderThan: format)
            if !names.isEmpty { return .olderNodes(names) }
        }
        if let charges = change.charges {
            let (used, closure) = (try await self.limitUse(charges.checks), try await self.limitClosure())
            if let limit = charges.limit(passedAt: used, closure) { return .limited(limit) }
        }
        return .otherTag
    }

    func insert(_ row: NewRow) async throws -> InsertAnswer {
        let slot: Int64?
        do {
            slot = try await self.withConnection { connection in
                do throws(PostgresError) {
                    return try connection.run([StoredActivation.insertion(of: row)]).first?.first?.integer(0)
                } catch  where error.refusal == .duplicate {
                    return nil
                }
            }
        } catch let error as MobileTokenError where SealingKeyTable.lacksKey(error) {
            return .otherKey
        }
        if let slot { return .written(slot: slot) }
        let held = try await self.load(row.sealed.activationID)
        return held?.tag == row.tag ? .written(slot: held?.slot ?? 0) : .held
    }

    func rehearse(_ row: NewRow) async throws -> Bool {
        struct End: Error {}
        let rehearsal = NewRow(
            sealed: SealedActivation(activationID: UUID().uuidString, fields: row.sealed.fields),
            tag: row.tag,
            key: row.key,
            format: row.format
        )
        do {
            try await self.withConnection { connection in
                do {
                    try connection.transaction { transaction in
                        try transaction.run([StoredActivation.insertion(of: rehearsal)])
                        throw End()
                    }
                } catch is End {}
                try connection.run(
                    "INSERT INTO setting (name, value) VALUES ('rehearsal', $1) ON CONFLICT (name) DO UPDATE SET value = $1",
                    [.bytes([UInt8](repeating: 0, count: 4_096))]
                )
                try connection.run("DELETE FROM setting WHERE name = 'rehearsal'")
            }
        } catch let error as MobileTokenError where SealingKeyTable.lacksKey(error) {
            return false
        }
        return true
    }

    func remove(_ activationID: String) async throws -> Int64? {
        self.node.forget(activationID)
        return try await self.withConnection { connection in
            let deletion = "DELETE FROM activation WHERE activation_id = $1 RETURNING slot"
            return try connection.run(deletion, [.text(activationID)]).first?.integer(0)
        }
    }

    func activationIDs(_ filter: RowFilter) async throws -> [String] {
        let mark = SealedActivation.upgradeMark
        let statement =
            switch filter {
            case .all: PostgresStatement("SELECT activation_id FROM activation ORDER BY slot")
            case .upgrading:
                PostgresStatement(
                    """
                    SELECT activation_id FROM activation JOIN field USING (slot)
                    WHERE name = '\(mark.name)' AND value = $1 ORDER BY slot
                    """,
                    [.bytes(mark.bytes)]
                )
            }
        return try await self.withConnection(isCancelable: true) { connection in
            try connection.run([statement], .none).first?.map { try $0.text(0) } ?? []
        }
    }

    func checkReaders(of format: RecordFormat) async throws {
        let names = try await self.namesOfNodes(olderThan: format)
        guard names.isEmpty else { throw MobileTokenError.olderNodes(names) }
    }

    private func namesOfNodes(olderThan format: RecordFormat) async throws -> [String] {
        try await self.withConnection { connection in
            try connection.run(OlderNodes.query("$1", columns: "name"), [.integer(format.rawValue)], .none)
                .map { try $0.text(0) }
        }
    }

    func beginEpoch(after epoch: Int64) async throws -> Bool {
        try await self.withConnection { try DatabaseEpoch.begin(after: epoch, $0) }
        return true
    }

    func withTurn<Result: Sendable>(
        of activationID: String,
        slot known: Int64?,
        _ body: @Sendable (Turn) async throws -> Result
    ) async throws -> Result {
        let slot = if let known { Optional(known) } else { try await self.slot(of: activationID) }
        guard let slot else {
            throw MobileTokenError(.activationNotStored, "No activation with this identifier is stored")
        }
        return try await self.node.withTurn(of: activationID, slot: slot, body)
    }

    private func slot(of activationID: String) async throws -> Int64? {
        try await self.withConnection { connection in
            try connection.run("SELECT slot FROM activation WHERE activation_id = $1", [.text(activationID)], .none)
                .first?.integer(0)
        }
    }
}

/// The living nodes that cannot read a format.
enum OlderNodes {
    /// - Parameter format: The format's number as SQL.
    static func query(_ format: String, columns: String = "") -> String {
        "SELECT \(columns) FROM node WHERE newest_format < \(format) AND expires_at > clock_timestamp()"
    }
}

/// The identifier that links a store to its file of marks: created with the first tables, and copied with them.
private enum StoreIdentifier {
    static func find(_ connection: PostgresConnection) throws -> String {
        let rows = try connection.run([
            PostgresStatement(
                """
                INSERT INTO setting (name, value) VALUES ('identifier', decode(replace(gen_random_uuid()::text, '-', ''), 'hex'))
                ON CONFLICT DO NOTHING
                """
            ),
            PostgresStatement("SELECT encode(value, 'hex') FROM setting WHERE name = 'identifier'"),
        ])
        guard let row = rows.last?.first else { throw PostgresError(.unexpectedResult) }
        return try row.text(0)
    }
}
