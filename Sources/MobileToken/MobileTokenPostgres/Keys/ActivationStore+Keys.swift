import PostgresDatabase
public import PowerAuthClient

extension ActivationStore {
    private static let pageSize = 100

    /// Seals everything with the ring's current key, in small steps, during normal operation. That includes the ledgers of all
    /// audiences.
    ///
    /// May be repeated, and continues after an interruption. Call it when every node's ring has the key; see ``SealingKeyRing``.
    ///
    /// - Throws: `storeWrongSealingKey` if the ring lacks a key; resealed data stay resealed. `storeCorrupted` if some data
    ///   cannot be decrypted, after everything else is done.
    public func reseal() async throws {
        let open = try await self.opened()
        var damage: MobileTokenError?
        try await self.resealActivations(with: open.keys.current, &damage)
        let keys = try await self.postgres.withConnection { connection in
            try connection.run("SELECT number FROM sealing_key ORDER BY number", [], .none).map { try $0.integer(0) }
        }
        for key in keys where key != open.keys.current { try await self.resealReceipts(sealedWith: key, &damage) }
        let lost = try await LedgerResealing.run(self.postgres)
        damage = damage ?? lost
        if let damage { throw damage }
    }

    /// Runs `body`, and records damaged data without stopping.
    private func passingOver<Result>(
        _ damage: inout MobileTokenError?,
        _ body: () async throws -> Result
    ) async throws -> Result? {
        do {
            return try await body()
        } catch let error as MobileTokenError where error.code == .storeCorrupted {
            damage = damage ?? error
            return nil
        }
    }

    private func resealActivations(with key: Int64, _ damage: inout MobileTokenError?) async throws {
        var last: Int64 = 0
        while true {
            let page = try await self.postgres.withConnection(isCancelable: true) { [last] connection in
                try connection.run(
                    """
                    SELECT slot, activation_id FROM activation WHERE sealing_key <> $1 AND slot > $2
                    ORDER BY slot LIMIT \(Self.pageSize)
                    """,
                    [.integer(key), .integer(last)],
                    .none
                ).map { (slot: try $0.integer(0), id: try $0.text(1)) }
            }
            guard let end = page.last else { return }
            for activation in page { try await self.passingOver(&damage) { try await self.reseal(activation.id) } }
            last = end.slot
        }
    }

    private func reseal(_ activationID: String) async throws {
        let keys = try await self.opened().keys
        // Other nodes may change it concurrently, but only a limited number of times.
        while let row = try await self.postgres.load(activationID), row.key != keys.current {
            let change = try row.resealed(
                from: try await self.sealing(row.key),
                to: keys.currentSealing,
                key: keys.current
            )
            _ = try await self.postgres.swap(change)
        }
    }

    private func resealReceipts(sealedWith key: Int64, _ damage: inout MobileTokenError?) async throws {
        let keys = try await self.opened().keys
        let (current, sealing) = (keys.current, keys.currentSealing)
        var last: UInt64 = 0
        while true {
            let rows = try await self.postgres.withConnection(isCancelable: true) { [last] connection in
                let query = StoredReceipts.sealed(with: key, after: last, limit: Self.pageSize)
                return try StoredReceipts.read(connection.run([query], .none))
            }
            guard let end = rows.last else { return }
            var entries: [(id: UInt64, sealed: SealedReceipt)] = []
            let earlier = try await self.sealing(key)
            for row in rows {
                let isIntent = row.intent == nil
                let sealed = try await self.passingOver(&damage) {
                    try earlier.reseal(row.sealed, isIntent: isIntent, with: sealing)
                }
                if let sealed { entries.append((row.number, sealed)) }
            }
            let statement = StoredReceipts.resealing(entries, with: current)
            try await self.postgres.withConnection { _ = try $0.run([statement], .relaxed) }
            last = end.number
        }
    }

    /// Removes unused keys, except the current one, so that they may be removed from the rings. Returns their number.
    @discardableResult
    public func retireUnusedKeys() async throws -> Int {
        let current = try await self.opened().keys.current
        return try await self.postgres.withConnection { connection in
            try connection.run(
                """
                DELETE FROM sealing_key AS key WHERE number <> $1
                    AND NOT EXISTS (SELECT FROM activation WHERE sealing_key = key.number)
                    AND NOT EXISTS (SELECT FROM receipt WHERE sealing_key = key.number)
                RETURNING number
                """,
                [.integer(current)]
            ).count
        }
    }
}
