import MobileTokenApprovals
import PostgresDatabase
import PowerAuth

/// Replaces the key of ledgers while desks are at work.
enum LedgerResealing {
    private static let pageSize = 100

    /// Seals the questions of all ledgers with the current key of the ring, in small steps.
    ///
    /// From the first step on, desks write with the new key. What is not resealed yet they open by the earlier one, and a process that ends
    /// in between leaves the rest to the next call.
    ///
    /// - Returns: The first row that no key opens, once everything else is done.
    /// - Throws: `storeWrongSealingKey` when a ledger is sealed with a key that is not in the ring.
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
                // First of all, so that no row is written with the earlier key any more.
                let check = try current.makeKeyCheck()
                try await database.withConnection { connection in
                    _ = try connection.run(
                        "UPDATE ledger SET key_check = $2 WHERE audience = $1 AND key_check = $3",
                        [.bytes(ledger.audience), .bytes(check), .bytes(ledger.check)]
                    )
                }
            }
            // A change that was under way may have written one more behind the last look.
            while try await self.reseal(ledger.audience, database, current, earlier, &damage) {}
        }
        return damage
    }

    /// Reseals the questions of one ledger.
    ///
    /// - Returns: `true` when there was anything to do.
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
                    // Its tag stays: to a desk it is the same row. One that was changed meanwhile is looked at again.
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
