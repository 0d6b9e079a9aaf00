import Dispatch
import PostgresDatabase
import PostgresTestServer
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5)), .enabled(if: PostgresTestServer.isInstalled, "no PostgreSQL server is installed"))
struct SharedTransactionsTests {
    @Test func whatIsAskedForTogetherSharesATransaction() async throws {
        try await withStage { stage in
            let ids = try await stage.together { stage, _ in try await stage.run("SELECT pg_current_xact_id()::text") }
            #expect(try Set(ids.map { try $0.get() }).count == 1)
            let next = try await stage.run("SELECT pg_current_xact_id()::text")
            #expect(try next != ids[0].get())
        }
    }

    @Test func aTransactionIsNeverLongerThanItsLimit() async throws {
        try await withStage { stage in
            let ids = try await stage.together(200) { stage, _ in
                try await stage.run("SELECT pg_current_xact_id()::text")
            }
            let sizes = try ids.reduce(into: [:]) { $0[try $1.get(), default: 0] += 1 }.values
            #expect(sizes.sorted() == [8, 64, 64, 64])
        }
    }

    /// There is a free connection all the time.
    @Test func whatArrivesDuringTheOnlyTransactionSharesTheNext() async throws {
        try await withStage(runsOneAtATime: true) { stage in
            let other = try PostgresConnection(to: .of(stage.server))
            try other.run("BEGIN")
            try other.run("LOCK TABLE number")
            let first = Task { try await stage.run("SELECT count(*)::text FROM number") }
            await until {
                (try? other.run("SELECT FROM pg_locks WHERE NOT granted").first) != nil
            }
            let arrived = Shared(0)
            let others = (0..<4).map { _ in
                Task {
                    defer { arrived.update { $0 += 1 } }
                    return try await stage.run("SELECT pg_current_xact_id()::text")
                }
            }
            await until { stage.transactions.gatheredCount + arrived.value >= 3 }
            try other.run("COMMIT")
            #expect(try await first.value == "7")
            var ids: Set<String> = []
            for task in others { ids.insert(try await task.value) }
            #expect(ids.count == 1)
        }
    }

    @Test func whatAllWaitForKeepsThemTogether() async throws {
        try await withStage { stage in
            let other = try PostgresConnection(to: .of(stage.server))
            try other.run("BEGIN")
            try other.run("SELECT pg_advisory_xact_lock(7)")
            let opening = [PostgresStatement("SELECT pg_advisory_xact_lock(7)")]
            let ids = try await stage.together { stage, _ in
                let id = PostgresStatement("SELECT pg_current_xact_id()::text")
                return try #require(try await stage.transactions.run([id], opening: opening).first?.first).text(0)
            } whenReleased: {
                await until { (try? other.run("SELECT FROM pg_locks WHERE NOT granted").first) != nil }
                // Longer than a shared transaction waits for a row.
                try other.run("SELECT pg_sleep(0.3)")
                try other.run("COMMIT")
            }
            #expect(try Set(ids.map { try $0.get() }).count == 1)
        }
    }

    @Test(arguments: [2, 3]) func whatEachWouldDoIsDoneOnceForAllIfItCanBe(part: Int) async throws {
        try await withStage { stage in
            let results = try await stage.together(4) { stage, _ in
                let own = PostgresStatement("SELECT pg_current_xact_id()::text || ' by itself'")
                let shared = PostgresStatement("SELECT pg_current_xact_id()::text || ' with others'")
                let rows = try await stage.transactions.run([own], share: .init([shared], part))
                return try #require(rows.first?.first).text(0)
            }
            let words = try Set(results.map { try $0.get() })
            #expect(words.count == 1)
            #expect(words.first?.hasSuffix(part == 2 ? "with others" : "by itself") == true)
            let number = "SELECT coalesce(max(value), 0)::text FROM number WHERE value > 100"
            #expect(try await stage.run(number) == (part == 2 ? "108" : "0"))
        }
    }

    /// Without a part of each, nothing can be done for all.
    @Test func whoHasNoShareKeepsTheOthersFromTheirs() async throws {
        try await withStage { stage in
            let results = try await stage.together(4) { stage, index in
                let own = PostgresStatement("SELECT 'by itself'")
                let share = SharedTransactions<Int>.Share([PostgresStatement("SELECT 'with others'")], 1)
                let rows = try await stage.transactions.run([own], share: index == 2 ? nil : share)
                return try #require(rows.first?.first).text(0)
            }
            #expect(try Set(results.map { try $0.get() }) == ["by itself"])
        }
    }

    /// Two transactions that lock the same rows do not wait for each other: they begin with the same one.
    @Test func rowsAreLockedInTheOrderOfTheirPlaces() async throws {
        try await withStage { stage in
            try await stage.pool.withConnection { _ = try $0.run("CREATE SEQUENCE turn") }
            // The one that leads is the third of them.
            let places: [Int64] = [20, 40, 10, 30, 0]
            let turns = try await stage.together { stage, index in
                let statement = PostgresStatement("SELECT nextval('turn')::text || ' \(index)'")
                return try #require(try await stage.transactions.run(statement, place: places[index]).first).text(0)
            }
            #expect(try turns.map { try $0.get() } == ["3 0", "5 1", "2 2", "4 3", "1 4"])
        }
    }

    @Test func whatATransactionEndsWithIsRunOnceForAll() async throws {
        try await withStage { stage in
            try await stage.pool.withConnection { _ = try $0.run("CREATE SEQUENCE turn") }
            let next = PostgresStatement("SELECT nextval('turn')::text")
            let turns = try await stage.together { stage, index in
                let rows = try await stage.transactions.run([next], closing: index == 3 ? [] : [next])
                #expect(rows.count == 1)
                return try #require(rows.first?.first).text(0)
            }
            #expect(try turns.map { try $0.get() }.sorted() == ["1", "2", "3", "4", "5"])
            #expect(try await stage.run(next.sql) == "7")
            let alone = try await stage.transactions.run([next], opening: [next], closing: [next, next])
            #expect(try alone.map { try $0.first?.text(0) } == ["9"])
        }
    }

    @Test func anEndThatFailsHarmsNoOther() async throws {
        try await withStage { stage in
            let results = try await stage.together { stage, index in
                let closing = index == 1 ? [PostgresStatement("SELECT 1 / 0")] : []
                let insertion = PostgresStatement("INSERT INTO number VALUES (\(10 + index)) RETURNING value::text")
                return try #require(try await stage.transactions.run([insertion], closing: closing).first?.first).text(
                    0
                )
            }
            for (index, result) in results.enumerated() {
                if index == 1 {
                    #expect(throws: PostgresError.self) { try result.get() }
                } else {
                    #expect(try result.get() == "\(10 + index)")
                }
            }
            #expect(try await stage.run("SELECT count(*)::text FROM number") == "11")
        }
    }

    @Test func whatIsRefusedHarmsNoOther() async throws {
        try await withStage { stage in
            // The third adds a number that is there.
            let results = try await stage.together { stage, index in
                try await stage.run("INSERT INTO number VALUES (\(index == 2 ? 0 : 10 + index)) RETURNING value::text")
            }
            for (index, result) in results.enumerated() {
                if index == 2 {
                    let error = #expect(throws: PostgresError.self) { try result.get() }
                    #expect(error?.refusal == .duplicate)
                } else {
                    #expect(try result.get() == "\(10 + index)")
                }
            }
            #expect(try await stage.run("SELECT count(*)::text FROM number") == "11")
        }
    }

    @Test func aRowThatIsLockedDelaysOnlyWhoWantsIt() async throws {
        try await withStage { stage in
            let other = try PostgresConnection(to: .of(stage.server))
            try other.run("BEGIN")
            try other.run("UPDATE number SET value = value WHERE value = 2")
            let arrived = Shared(Set<Int>())
            let results = try await stage.together { stage, index in
                defer { arrived.update { $0.insert(index) } }
                return try await stage.run(
                    "UPDATE number SET value = -value WHERE value = \(index) RETURNING value::text"
                )
            } whenReleased: {
                await until { arrived.value.count == 4 }
                #expect(!arrived.value.contains(2))
                try other.run("COMMIT")
            }
            for (index, result) in results.enumerated() { #expect(try result.get() == "\(-index)") }
        }
    }

    @Test(arguments: [0, 2])
    func whoGivesUpTakesNoOneAlong(index: Int) async throws {
        try await withStage { stage in
            let results = try await stage.together { stage, index in
                try await stage.run(
                    "UPDATE number SET value = 100 + value WHERE value = \(index) RETURNING value::text"
                )
            } whenGathered: { tasks in
                tasks[index].cancel()
                _ = await tasks[index].result
            }
            for (number, result) in results.enumerated() {
                if number == index {
                    #expect(throws: CancellationError.self) { try result.get() }
                } else {
                    #expect(try result.get() == "\(100 + number)")
                }
            }
            #expect(try await stage.run("SELECT count(*)::text FROM number WHERE value = \(index)") == "1")
        }
    }

    @Test func whoJoinedAnotherThatIsCanceledStillShares() async throws {
        try await withStage { stage in
            let ids = try await stage.together { stage, _ in
                try await stage.run("SELECT pg_current_xact_id()::text")
            } whenGathered: { tasks in
                tasks[0].cancel()
                _ = await tasks[0].result
            }
            #expect(throws: CancellationError.self) { try ids[0].get() }
            #expect(try Set(ids.dropFirst().map { try $0.get() }).count == 1)
        }
    }

    @Test func allAreToldWhenTheConnectionIsLost() async throws {
        try await withStage { stage in
            let watcher = try PostgresConnection(to: .of(stage.server))
            let results = try await stage.together { stage, index in
                try await stage.run("SELECT pg_sleep(\(index == 4 ? 60 : 0))::text")
            } whenReleased: {
                // The last of them runs, and nothing is committed.
                let sleeper = "SELECT pid::int8 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
                await until { (try? watcher.run(sleeper, [], .none).isEmpty) == false }
                try await stage.server.crash()
            }
            for result in results {
                let error = #expect(throws: PostgresError.self) { try result.get() }
                #expect(error?.kind == .outcomeUnknown)
            }
        }
    }

    @Test func allAreToldWhenThereIsNoServer() async throws {
        try await withStage { stage in
            let results = try await stage.together { stage, _ in
                try await stage.run("SELECT ''")
            } whenGathered: { _ in
                try await stage.server.stop()
            }
            for result in results {
                let error = #expect(throws: PostgresError.self) { try result.get() }
                #expect(error?.kind == .unreachable)
            }
        }
    }
}

/// A server with the numbers 0 to 6 in a table, and two connections.
private struct Stage: Sendable {
    let server: PostgresTestServer
    let pool: PostgresPool
    let transactions: SharedTransactions<Int>

    func run(_ sql: String) async throws -> String {
        try #require(try await self.transactions.run(PostgresStatement(sql)).first).text(0)
    }

    /// Calls `perform` in tasks, while nothing can begin, and then lets them go on together.
    func together(
        _ count: Int = 5,
        _ perform: @escaping @Sendable (Stage, Int) async throws -> String,
        whenGathered act: ([Task<String, any Error>]) async throws -> Void = { _ in },
        whenReleased react: () async throws -> Void = {}
    ) async throws -> [Result<String, any Error>] {
        let (held, release) = (Shared(0), DispatchSemaphore(value: 0))
        let holders = (0..<2).map { _ in
            Task {
                try await self.pool.withConnection { _ in
                    held.update { $0 += 1 }
                    release.wait()
                }
            }
        }
        await until { held.value == 2 }
        var tasks: [Task<String, any Error>] = []
        for index in 0..<count {
            tasks.append(Task { try await perform(self, index) })
            // One after the other, so that the first is the first.
            await until { self.transactions.gatheredCount + self.pool.waitingCount == index + 1 }
        }
        do {
            defer { for _ in holders { release.signal() } }
            try await act(tasks)
        }
        for holder in holders { try await holder.value }
        try await react()
        var results: [Result<String, any Error>] = []
        for task in tasks { results.append(await task.result) }
        return results
    }
}

private func withStage(runsOneAtATime: Bool = false, _ body: (Stage) async throws -> Void) async throws {
    let server = try await PostgresTestServer.start()
    // Nothing here is to end because a slow machine took its time.
    let pool = PostgresPool(size: 2, options: altered(.init()) { $0.statementTimeout = .seconds(60) }) { .of(server) }
    try await pool.withConnection { connection in
        try connection.run("CREATE TABLE number (value int8 PRIMARY KEY)")
        try connection.run("INSERT INTO number SELECT * FROM generate_series(0, 6)")
    }
    // Parts that together are more than ten cannot be done together.
    let transactions = SharedTransactions<Int>(in: pool, .durable, runsOneAtATime: runsOneAtATime) { parts in
        let sum = parts.reduce(0, +)
        return [PostgresStatement("INSERT INTO number SELECT 100 + \(sum) / CASE WHEN \(sum) > 10 THEN 0 ELSE 1 END")]
    }
    try await body(Stage(server: server, pool: pool, transactions: transactions))
    await pool.closeIdleConnections()
}
