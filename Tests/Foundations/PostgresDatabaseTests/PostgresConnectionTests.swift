import Glibc
import PostgresDatabase
import PostgresTestServer
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct PostgresConnectionTests {
    private func connect(
        _ server: PostgresTestServer? = nil,
        overTCP: Bool = false,
        interrupt: Interrupt? = nil,
        _ change: (inout PostgresConnection.Options) -> Void = { _ in }
    ) async throws -> PostgresConnection {
        let server = if let server { server } else { try await PostgresTestServer.shared() }
        var options = PostgresConnection.Options()
        change(&options)
        return try PostgresConnection(to: .of(server, overTCP: overTCP), options: options, interrupt: interrupt)
    }

    @Test(arguments: [true, false]) func valuesComeBackAsTheyWere(prepares: Bool) async throws {
        let connection = try await self.connect { $0.preparesStatements = prepares }
        for _ in 0..<2 {
            let row = try #require(
                try connection.run(
                    "SELECT $1::bool, $2::int8, $3::text, $4::bytea, $5::bytea, $6::text, ($7::int8[])[2]",
                    [
                        .boolean(true), .integer(.min), .text("e\u{301} \u{1F4B3}"), .bytes([0, 255]), .bytes([]),
                        .null,
                        .integers([1, -2]),
                    ],
                    .none
                ).first
            )
            #expect(try row.boolean(0))
            #expect(try row.integer(1) == .min)
            #expect(try row.text(2) == "e\u{301} \u{1F4B3}")
            #expect(try row.bytes(3) == [0, 255])
            #expect(try row.bytes(4) == [])
            #expect(row.isNull(5) && !row.isNull(4))
            #expect(try row.integer(6) == -2)
            #expect(throws: PostgresError.self) { try row.integer(2) }
            #expect(throws: PostgresError.self) { try row.text(5) }
            #expect(throws: PostgresError.self) { try row.text(99) }
        }
    }

    @Test func arraysBecomeRows() async throws {
        let connection = try await self.connect()
        let rows = try connection.run(
            "SELECT * FROM unnest($1::text[], $2::bytea[], $3::bool[])",
            [.texts(["a", "", "'"]), .byteStrings([[1], nil, []]), .booleans([true, false, true])],
            .none
        )
        #expect(try rows.map { try $0.text(0) } == ["a", "", "'"])
        #expect(rows.map { $0.isNull(1) } == [false, true, false])
        #expect(try rows.map { try $0.boolean(2) } == [true, false, true])
        #expect(try connection.run("SELECT unnest($1::text[])", [.texts([])], .none).isEmpty)
    }

    @Test func statementsOfOneRoundTripAreOneTransaction() async throws {
        let connection = try await self.connect()
        try connection.run("CREATE TEMPORARY TABLE item (id int8 PRIMARY KEY)")
        let insertion = PostgresStatement("INSERT INTO item VALUES ($1)", [.integer(1)])
        #expect(throws: PostgresError.self) { try connection.run([insertion, insertion]) }
        #expect(try connection.run("SELECT count(*) FROM item", [], .none)[0].integer(0) == 0)
        #expect(connection.isUsable)

        let trips = connection.roundTripCount
        try connection.run([insertion, PostgresStatement("INSERT INTO item VALUES ($1)", [.integer(2)])])
        #expect(connection.roundTripCount == trips + 1)
        #expect(try connection.run("SELECT count(*) FROM item", [], .none)[0].integer(0) == 2)
    }

    @Test func aTransactionIsUndoneWhenItsBodyThrows() async throws {
        struct Refusal: Error {}
        let connection = try await self.connect()
        try connection.run("CREATE TEMPORARY TABLE item (id int8 PRIMARY KEY)")
        #expect(throws: Refusal.self) {
            try connection.transaction { transaction in
                try transaction.run("INSERT INTO item VALUES (1)")
                throw Refusal()
            }
        }
        try connection.transaction { transaction in
            try transaction.run("INSERT INTO item VALUES ($1)", [.integer(2)])
        }
        #expect(try connection.run("SELECT id FROM item", [], .none).map { try $0.integer(0) } == [2])
    }

    /// The server would answer its commit with a rollback, and call that a success.
    @Test func aTransactionWhoseFailureWasSwallowedIsNoSuccess() async throws {
        let connection = try await self.connect()
        #expect(throws: PostgresError.self) {
            try connection.transaction { transaction in _ = try? transaction.run("SELECT 1/0") }
        }
        #expect(!connection.isUsable)
    }

    @Test func refusalsAreToldApart() async throws {
        let connection = try await self.connect { $0.statementTimeout = .seconds(1) }
        try connection.run("CREATE TEMPORARY TABLE item (id int8 PRIMARY KEY)")
        func refusal(of sql: String, _ values: [PostgresValue] = []) -> PostgresError? {
            do {
                return try {
                    _ = try connection.run(sql, values); return nil
                }()
            } catch { return error as? PostgresError }
        }
        #expect(refusal(of: "INSERT INTO item VALUES (1), (1)")?.refusal == .duplicate)
        #expect(refusal(of: "SELECT 1 FROM nowhere")?.refusal == .missing)
        #expect(refusal(of: "SELECT pg_sleep(10)::text")?.refusal == .timeout)
        #expect(refusal(of: "SELECT $1::text", [.text("\0")])?.refusal == .character)
        #expect(refusal(of: "SELECT 1/0")?.refusal == .other)
        #expect(refusal(of: "SELECT 1/0")?.kind == .refused)
        #expect(connection.isUsable)
        // Neither the statement nor a value.
        #expect(
            try #require(refusal(of: "SELECT 'secret'::int8")).description == "PostgreSQL: refused (SQLSTATE 22P02)"
        )
    }

    @Test func aStatementThatWasNotPreparedIsPreparedLater() async throws {
        let connection = try await self.connect()
        #expect(throws: PostgresError.self) { try connection.run("SELECT count(*) FROM pg_temp.later") }
        try connection.run("CREATE TEMPORARY TABLE later (id int8)")
        #expect(try connection.run("SELECT count(*) FROM pg_temp.later", [], .none)[0].integer(0) == 0)
        #expect(try connection.run("SELECT 7::int8", [], .none)[0].integer(0) == 7)
    }

    /// A default of a role or a database is overruled, unless it is stronger.
    @Test(arguments: [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
    func durabilityIsOurSetting(ofRole: String, ours: String) async throws {
        let server = try await PostgresTestServer.shared()
        var target = PostgresTarget.of(server)
        target.connectionString += " options='-c synchronous_commit=\(ofRole)'"
        let connection = try PostgresConnection(to: target)
        func setting(_ effect: PostgresConnection.Effect) throws -> String {
            try connection.run(Self.durability, [], effect)[0].text(0)
        }
        #expect(try setting(.durable) == ours)
        #expect(try setting(.relaxed) == "off")
        #expect(try setting(.durable) == ours)
        #expect(try connection.transaction { try $0.run(Self.durability)[0].text(0) } == ours)
    }

    /// A second statement sees what others committed while the first one waited for their lock, whatever is the default.
    @Test(arguments: ["repeatable read", "serializable"]) func isolationIsOurSetting(ofRole: String) async throws {
        let server = try await PostgresTestServer.shared()
        var target = PostgresTarget.of(server)
        let escaped = ofRole.split(separator: " ").joined(separator: #"\\ "#)
        target.connectionString += " options='-c default_transaction_isolation=\(escaped)'"
        let connection = try PostgresConnection(to: target)
        for effect in [PostgresConnection.Effect.none, .durable, .relaxed] {
            #expect(try connection.run(Self.isolation, [], effect)[0].text(0) == "read committed")
        }
        #expect(try connection.transaction { try $0.run(Self.isolation)[0].text(0) } == "read committed")
    }

    private static let isolation = "SELECT current_setting('transaction_isolation')"
    private static let durability = "SELECT current_setting('synchronous_commit')"

    /// A session that is lent to others gets our settings for each of our transactions, and keeps none of them.
    @Test(.enabled(if: PostgresTestPooler.isInstalled, "no pooler is installed"))
    func aPoolerKeepsNoneOfOurSettings() async throws {
        let server = try await PostgresTestServer.start(
            .init(settings: ["synchronous_commit = off", "default_transaction_isolation = 'repeatable read'"])
        )
        let pooler = try await PostgresTestPooler.start(before: server)
        let target = PostgresTarget(connectionString: pooler.connectionString, tls: .disabled)
        var options = PostgresConnection.Options()
        options.preparesStatements = false
        options.searchPath = "ours"
        let connection = try PostgresConnection(to: target, options: options)
        let settings = "SELECT current_setting('search_path'), current_setting('statement_timeout'), "
        for _ in 0..<3 {
            let row = try #require(try connection.run(settings + "current_setting('synchronous_commit')").first)
            #expect(try row.text(0) == "\"ours\", pg_temp")
            #expect(try row.text(1) == "5s")
            #expect(try row.text(2) == "on")
        }
        #expect(try connection.transaction { try $0.run(Self.durability)[0].text(0) } == "on")
        for effect in [PostgresConnection.Effect.none, .durable, .relaxed] {
            #expect(try connection.run(Self.isolation, [], effect)[0].text(0) == "read committed")
        }
        #expect(try connection.transaction { try $0.run(Self.isolation)[0].text(0) } == "read committed")
        // Another program that is lent the same session.
        let other = try await ChildProcess.run(
            try #require(PostgresTestServer.programs) + "/psql",
            [
                "-XAtc",
                settings + "current_setting('synchronous_commit'), current_setting('transaction_isolation')",
                pooler.connectionString,
            ]
        )
        #expect(other.lines == ["\"$user\", public|0|off|repeatable read"])
        withExtendedLifetime(pooler) {}
    }

    @Test func namesAreLookedForInOneSchema() async throws {
        let connection = try await self.connect { $0.searchPath = "odd \" name" }
        #expect(
            try connection.run("SELECT current_setting('search_path')", [], .none)[0].text(0)
                == "\"odd \"\" name\", pg_temp"
        )
    }

    @Test func aCanceledStatementDoesNothing() async throws {
        let interrupt = Interrupt()
        let connection = try await self.connect(interrupt: interrupt) { $0.statementTimeout = .seconds(60) }
        try connection.run("CREATE TABLE canceled_item (id int8)")
        interrupt.raise()
        let error = #expect(throws: PostgresError.self) {
            try connection.run("WITH pause AS (SELECT pg_sleep(60)) INSERT INTO canceled_item SELECT 1 FROM pause")
        }
        #expect(error?.kind == .canceled)
        // A request to cancel may still be on its way to it.
        #expect(!connection.isUsable)
        let other = try await self.connect()
        #expect(try other.run("SELECT count(*) FROM canceled_item", [], .none)[0].integer(0) == 0)
    }

    @Test func notificationsAreHeard() async throws {
        let listener = try await self.connect()
        let speaker = try await self.connect()
        for _ in 0..<2 { try listener.listen(to: "odd \" news") }
        #expect(try !listener.waitForNotification(until: .now + .milliseconds(10)))
        try speaker.run("SELECT pg_notify($1, '')", [.text("odd \" news")])
        #expect(try listener.waitForNotification(until: .now + .seconds(30)))
        #expect(try listener.run("SELECT 1::int8", [], .none)[0].integer(0) == 1)
    }

    // MARK: Trouble

    @Test func aServerThatIsNotThereIsUnreachable() throws {
        let error = #expect(throws: PostgresError.self) {
            try PostgresConnection(to: PostgresTarget(connectionString: "host=/nonexistent", tls: .disabled))
        }
        #expect(error?.kind == .unreachable)
        let unreadable = #expect(throws: PostgresError.self) {
            try PostgresConnection(to: PostgresTarget(connectionString: "pass word=secret", tls: .disabled))
        }
        #expect(unreadable?.kind == .invalidConfiguration)
        #expect(unreadable.map { "\($0)" }?.contains("secret") == false)
    }

    @Test func aServerWithoutTLSIsRefused() async throws {
        let server = try await PostgresTestServer.shared()
        var target = PostgresTarget.of(server, overTCP: true)
        target.tls = .verified(rootCertificates: PostgresTarget.systemRootCertificates)
        let error = #expect(throws: PostgresError.self) { try PostgresConnection(to: target) }
        #expect(error?.kind == .unreachable)
    }

    @Test func aFullServerSaysSo() async throws {
        let server = try await PostgresTestServer.start(
            .init(settings: ["max_connections = 6", "superuser_reserved_connections = 1", "max_wal_senders = 0"])
        )
        var connections: [PostgresConnection] = []
        var failure: PostgresError?
        while failure == nil, connections.count < 20 {
            do { connections.append(try await self.connect(server)) } catch { failure = error as? PostgresError }
        }
        #expect(failure?.kind == .unreachable)
        #expect(failure?.refusal == .tooManyConnections)
    }

    @Test func aReadOnlyServerSaysSo() async throws {
        let server = try await PostgresTestServer.start(.init(settings: ["default_transaction_read_only = on"]))
        let connection = try await self.connect(server)
        let error = #expect(throws: PostgresError.self) { try connection.run("CREATE TABLE item (id int8)") }
        #expect(error?.refusal == .readOnly)
    }

    @Test func aCrashLeavesChangesUnknownAndQueriesUndone() async throws {
        let server = try await PostgresTestServer.start()
        let one = try await self.connect(server)
        let other = try await self.connect(server)
        try await server.crash()
        #expect(one.hasUnexpectedInput)
        #expect(#expect(throws: PostgresError.self) { try one.run("SELECT 1", [], .none) }?.kind == .connectionLost)
        let unknown = #expect(throws: PostgresError.self) { try other.run("CREATE TABLE item (id int8)") }
        #expect(unknown?.kind == .outcomeUnknown)
        #expect(!one.isUsable && !other.isUsable)
        #expect(#expect(throws: PostgresError.self) { try self.reconnect(server) }?.kind == .unreachable)
        try await server.start()
        #expect(try self.reconnect(server).run("SELECT 1::int8", [], .none)[0].integer(0) == 1)
    }

    private func reconnect(_ server: PostgresTestServer) throws -> PostgresConnection {
        try PostgresConnection(to: .of(server))
    }

    /// The kernel takes connections for a stopped server, and nobody answers.
    @Test(arguments: [false, true]) func aFrozenServerIsGivenUp(overTCP: Bool) async throws {
        let server = try await PostgresTestServer.start()
        let interrupt = Interrupt()
        let connection = try await self.connect(
            server,
            overTCP: overTCP,
            interrupt: interrupt
        ) {
            $0.statementTimeout = .seconds(1)
            $0.grace = .milliseconds(100)
        }
        try connection.run("CREATE TABLE item (id int8)")
        try server.freeze()
        var target = PostgresTarget.of(server, overTCP: overTCP)
        target.connectTimeout = .milliseconds(300)
        #expect(#expect(throws: PostgresError.self) { try PostgresConnection(to: target) }?.kind == .unreachable)
        interrupt.raise()  // canceling does not wait for the frozen server either
        let error = #expect(throws: PostgresError.self) { try connection.run("INSERT INTO item VALUES (1)") }
        #expect(error?.kind == .outcomeUnknown)
        try server.thaw()
    }
}

extension PostgresTarget {
    static func of(_ server: PostgresTestServer, overTCP: Bool = false) -> Self {
        Self(connectionString: server.connectionString(overTCP: overTCP), tls: .disabled)
    }
}
