import MobileTokenApprovals
import PostgresDatabase
import PowerAuthClient

/// Reseals ledgers while desks are running.
enum LedgerResealing {
    private static let pageSize = 100

    /// Seals the questions of all ledgers with the ring's current key, in small steps. From the first step on, desks write with
    /// the new key, and decrypt older questions with the earlier one. An interrupted call is continued by the next one.
    ///
    /// - Returns: The error of the first undecryptable row, after everything else is done.
    /// - Throws: `storeWrongSealingKey` if the ring lacks a ledger's key.
    static func run(_ database: PostgresDriver) async throws -> MobileTokenError? {
        let ring = database.configuration.sealingKeys
        let current = try Sealing(key: try await ring.current.sealingKey(isForNewStore: false))
        var earlier: [Sealing] = []
        for provider in ring.earlier {
            earlier.append(try Sealing(key: try await provider.sealingKey(isForNewStore: false)))
        }
        let ledgers = try await database.withConnection { connection in
            try connection.run(
                "SELECT audience, key_check FROM ledger WHERE key_check IS NOT NULL ORDER BY audience",
                [],
                .none
            ).map { (audience: try $0.bytes(0), check: try $0.bytes(1)) }
        }
        var damage: MobileTokenError?
        for ledger in ledgers {
            if !current.matches(keyCheck: ledger.check) {
                guard earlier.contains(where: { $0.matches(keyCheck: ledger.check) }) else {
                    throw MobileTokenError(
                        .storeWrongSealingKey,
                        "A ledger is sealed with a key that is not in the ring"
                    )
                }
                // First, so that no further row is written with the earlier key.
                let check = try current.makeKeyCheck()
                try await database.withConnection { connection in
                    _ = try connection.run(
                        "UPDATE ledger SET key_check = $2 WHERE audience = $1 AND key_check = $3",
                        [.bytes(ledger.audience), .bytes(check), .bytes(ledger.check)]
                    )
                }
            }
            // A concurrent change may have written another one after the last look.
            while try await self.reseal(ledger.audience, database, current, earlier, &damage) {}
        }
        return damage
    }

    /// Reseals some questions of a ledger. Returns `false` if there were none.
    private static func reseal(
        _ audience: [UInt8],
        _ database: PostgresDriver,
        _ current: Sealing,
        _ earlier: [Sealing],
        _ damage: inout MobileTokenError?
    ) async throws -> Bool {
        var last: [UInt8] = []
        var isChanged = false
        while true {
            let rows = try await database.withConnection(isCancelable: true) { [last] connection in
                try connection.run(
                    """
                    \(PostgresLedger.selection) WHERE audience = $1 AND key > $2
                    ORDER BY key LIMIT \(self.pageSize)
                    """,
                    [.bytes(audience), .bytes(last)],
                    .none
                ).map { try PostgresLedger.row($0) }
            }
            guard let end = rows.last else { return isChanged }
            var statements: [PostgresStatement] = []
            for row in rows.sorted(by: { PostgresLedger.place($0.key) < PostgresLedger.place($1.key) }) {
                do {
                    guard let content = try row.resealed(with: current, from: earlier) else { continue }
                    // The tag stays, because desks consider it the same row. A row changed meanwhile is examined again.
                    statements.append(
                        PostgresStatement(
                            "UPDATE question SET content = $2 WHERE key = $1 AND content = $3",
                            [.bytes(row.key.bytes), .bytes(content), .bytes(row.content)]
                        )
                    )
                } catch let error as MobileTokenError where error.code == .storeCorrupted {
                    damage = damage ?? error
                }
            }
            if !statements.isEmpty {
                isChanged = true
                try await database.withConnection { [statements] connection in
                    try connection.transaction { _ = try $0.run(statements) }
                }
            }
            last = end.key.bytes
        }
    }
}
