import Coordination
import PostgresDatabase
public import PowerAuth

extension PostgresActivationStore: ActivationStore {
    /// Shows that an activation could be inserted now: inserts one, and takes it back within the transaction. Then writes
    /// something durably.
    public func prove() async throws {
        let open = try await self.opened()
        let key = open.keys.current
        try await self.withConnection { connection in
            do {
                try connection.transaction { transaction in
                    try transaction.run(
                        """
                        INSERT INTO activation (activation_id, write_token, incarnation, sealing_key)
                        SELECT gen_random_uuid()::text, 0, max(number), $1 FROM incarnation
                        """,
                        [.integer(key)]
                    )
                    throw RehearsalEnd()
                }
            } catch is RehearsalEnd {}
            try connection.run(
                "INSERT INTO setting (name, value) VALUES ('rehearsal', $1) ON CONFLICT (name) DO UPDATE SET value = $1",
                [.bytes([UInt8](repeating: 0, count: 4_096))]
            )
            try connection.run("DELETE FROM setting WHERE name = 'rehearsal'")
        }
    }

    /// Takes a rehearsal back.
    private struct RehearsalEnd: Error {}

    /// Returns the identifiers of all activations held, oldest first.
    public func activationIDs() async throws -> [String] {
        _ = try await self.opened()
        return try await self.withConnection(isCancelable: true) { connection in
            try connection.run("SELECT activation_id FROM activation ORDER BY slot", [], .none).map { try $0.text(0) }
        }
    }

    /// Returns one activation as it stands now, or `nil`.
    public func record(of activationID: String) async throws -> ActivationRecord? {
        let open = try await self.opened()
        while let stored = try await self.stored(activationID) {
            var record = try await self.sealing(stored.sealingKey).open(stored.sealed)
            let mark = open.marks.moves(of: stored.slot, activationID: activationID)
            guard record.counterMoves < mark, !stored.wasPutBack else {
                record.restore(stored, mark: mark)
                return record
            }
            try await self.noteBehind(stored)
        }
        return nil
    }

    /// Adds an activation, or throws `activationAlreadyStored`.
    public func insert(_ record: ActivationRecord) async throws {
        let open = try await self.opened()
        let sealed = try open.keys.sealing.seal(record)
        let token = Int64.random(in: .min ... .max)
        let statement = PostgresStatement(
            """
            WITH new AS (
                INSERT INTO activation (activation_id, write_token, incarnation, sealing_key, format)
                SELECT $1, $2, max(number), $3, $7 FROM incarnation RETURNING slot
            ), written AS (
                INSERT INTO field (slot, name, is_sealed, value)
                SELECT new.slot, field.* FROM new, unnest($4::text[], $5::bool[], $6::bytea[]) AS field
            )
            SELECT slot FROM new
            """,
            [
                .text(record.activationID), .integer(token), .integer(open.keys.current),
                .texts(sealed.fields.map(\.name)), .booleans(sealed.fields.map(\.isSealed)),
                .byteStrings(sealed.fields.map(\.bytes)), .integer(sealed.format.rawValue),
            ]
        )
        let isNew = try await self.settlingOutcome {
            do {
                return try await self.withConnection { connection in
                    do throws(PostgresError) {
                        return try connection.run([statement]).first?.isEmpty == false
                    } catch  where error.refusal == .duplicate {
                        return false
                    }
                }
            }
        } wasWritten: {
            try await self.stored(record.activationID)?.writeToken == token
        }
        guard isNew else {
            throw MobileTokenError(.activationAlreadyStored, "An activation with this identifier is already stored")
        }
        if let stored = try? await self.stored(record.activationID) {
            open.marks.set(record.counterMoves, of: stored.slot, activationID: record.activationID)
        }
    }

    /// Changes one activation in a single step; see `ActivationStore`.
    ///
    /// `change` may be called more than once: when another node was quicker, of the newer state.
    @discardableResult
    public func update<Result: Sendable>(
        _ activationID: String,
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await self.update(activationID, as: nil, recording: nil, change)
    }

    /// Forgets an activation with its tokens and factors. Their bytes are gone from the tables when PostgreSQL vacuums them, and
    /// stay in backups and archived logs, sealed.
    public func remove(_ activationID: String) async throws {
        let open = try await self.opened()
        self.node.forget(activationID)
        let slot = try await self.stored(activationID)?.slot
        _ = try await self.settlingOutcome {
            try await self.withConnection { connection in
                try connection.run("DELETE FROM activation WHERE activation_id = $1", [.text(activationID)])
                return true
            }
        } wasWritten: {
            true
        }
        if let slot { open.marks.set(0, of: slot, activationID: activationID) }
    }

    /// Runs `body` when it is its turn to sign, which one task of one node at a time has; see `ActivationStore`.
    ///
    /// - Throws: `signingTurnLost` from changes within the turn when this node was taken for dead meanwhile.
    public func withSigningTurn<Result: Sendable>(
        of activationID: String,
        _ body: @Sendable (SigningTurn) async throws -> Result
    ) async throws -> Result {
        _ = try await self.opened()
        try await self.node.gate.enter(activationID)
        defer { self.node.gate.leave(activationID) }
        try self.node.beginUse()
        defer { self.node.endUse() }
        let seat: Seat
        do {
            seat = try await self.node.acquire(activationID)
        } catch {
            throw MobileTokenError.mapped(error, schema: self.configuration.schema)
        }
        let turn = SigningTurn(of: activationID, in: StoreWithinTurn(store: self, seat: seat)) {
            self.node.reliableUntil(as: seat)
        }
        return try await body(turn)
    }
}
