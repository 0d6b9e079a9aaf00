import Coordination
import PostgresDatabase
import PowerAuth

extension PostgresActivationStore {
    private static let pageSize = 100

    /// Seals everything with the current key of the ring that is not yet, in small steps, while nodes sign.
    ///
    /// May be repeated, and goes on where it was interrupted. Call it once every node has a ring with that key; see
    /// ``SealingKeyRing``.
    ///
    /// - Throws: `storeWrongSealingKey` when something was sealed with a key that is not in the ring; what was resealed before
    ///   stays so.
    public func reseal() async throws {
        let open = try await self.opened()
        let key = open.keys.current
        while true {
            let ids = try await self.withConnection(isCancelable: true) { connection in
                try connection.run(
                    "SELECT activation_id FROM activation WHERE sealing_key <> $1 ORDER BY slot LIMIT $2",
                    [.integer(key), .integer(Int64(Self.pageSize))],
                    .none
                ).map { try $0.text(0) }
            }
            for id in ids { try await self.reseal(id) }
            if ids.isEmpty { break }
        }
        while try await self.resealReceipts() {}
        while try await self.resealLists() {}
    }

    private func reseal(_ activationID: String) async throws {
        try await self.changes.enter(activationID)
        defer { self.changes.leave(activationID) }
        self.node.remember(nil, of: activationID)
        let open = try await self.opened()
        // Other nodes may change it again and again, but each of them only so often.
        while let stored = try await self.stored(activationID), stored.sealingKey != open.keys.current {
            let sealed = try await self.sealing(stored.sealingKey).reseal(stored.sealed, with: open.keys.sealing)
            let statement = PostgresStatement(
                """
                WITH moved AS (
                    UPDATE activation SET version = version + 1, sealing_key = $3 WHERE slot = $1 AND version = $2
                    RETURNING slot
                )
                UPDATE field SET value = sealed.value
                FROM moved, unnest($4::text[], $5::bytea[]) AS sealed (name, value)
                WHERE field.slot = moved.slot AND field.name = sealed.name
                """,
                [
                    .integer(stored.slot), .integer(stored.version), .integer(open.keys.current),
                    .texts(sealed.fields.map(\.name)), .byteStrings(sealed.fields.map(\.bytes)),
                ]
            )
            try await self.withConnection { _ = try $0.run([statement]) }
        }
    }

    /// - Returns: Whether there may be more.
    private func resealReceipts() async throws -> Bool {
        let open = try await self.opened()
        let key = open.keys.current
        let rows = try await self.withConnection(isCancelable: true) { connection in
            try StoredReceipts.read(connection.run([StoredReceipts.notSealed(with: key, limit: Self.pageSize)], .none))
        }
        guard !rows.isEmpty else { return false }
        for row in rows {
            let sealed = try await self.sealing(row.key)
                .reseal(row.sealed, isIntent: row.intent == nil, with: open.keys.sealing)
            // Personal data may have been erased since they were read, and must not come back.
            let statement = PostgresStatement(
                """
                UPDATE receipt SET sealing_key = $2, body = $3,
                    personal_data = CASE WHEN personal_data IS NOT NULL THEN $4::bytea END
                WHERE id = $1
                """,
                [
                    .integer(Int64(clamping: row.number)), .integer(key), .bytes(sealed.body),
                    PostgresValue(sealed.personalData),
                ]
            )
            try await self.withConnection { _ = try $0.run([statement], .relaxed) }
        }
        return true
    }

    /// - Returns: Whether there may be more.
    private func resealLists() async throws -> Bool {
        let open = try await self.opened()
        let key = open.keys.current
        let rows = try await self.withConnection(isCancelable: true) { connection in
            try ListTable.notSealed(with: key, connection)
        }
        for row in rows {
            let json = try await self.sealing(row.sealingKey).open(row.body, as: ListTable.name, of: row.activationID)
            let body = try open.keys.sealing.seal(json, as: ListTable.name, of: row.activationID)
            try await self.withConnection { try ListTable.replace(row.place, with: body, key: key, $0) }
        }
        return !rows.isEmpty
    }

    /// Forgets the keys that nothing is sealed with, except for the current one, so that they may be taken out of the rings.
    ///
    /// - Returns: How many.
    @discardableResult
    public func retireUnusedKeys() async throws -> Int {
        let current = try await self.opened().keys.current
        return try await self.withConnection { connection in
            try connection.run(
                """
                DELETE FROM sealing_key AS key WHERE number <> $1
                    AND NOT EXISTS (SELECT FROM activation WHERE sealing_key = key.number)
                    AND NOT EXISTS (SELECT FROM receipt WHERE sealing_key = key.number)
                    AND NOT EXISTS (SELECT FROM list WHERE sealing_key = key.number)
                RETURNING number
                """,
                [.integer(current)]
            ).count
        }
    }
}
