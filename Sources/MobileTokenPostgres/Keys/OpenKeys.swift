import PostgresDatabase
import PowerAuth

/// The keys of a ring that the database knows, by their numbers.
struct OpenKeys: Sendable {
    /// The number that new rows name.
    let current: Int64
    private let sealings: [Int64: Sealing]

    /// The sealing that new rows get.
    ///
    /// - Throws: `storeWrongSealingKey`, never for what ``load(_:_:)`` returned.
    var sealing: Sealing {
        get throws { try self.sealing(self.current) }
    }

    /// - Throws: `storeWrongSealingKey` when the ring has no such key.
    func sealing(_ number: Int64) throws -> Sealing {
        guard let sealing = self.sealings[number] else { throw Self.wrongKey() }
        return sealing
    }

    func contains(_ number: Int64) -> Bool { self.sealings[number] != nil }

    /// The keys of a ring, fetched from where they are kept.
    struct Fetched: Sendable {
        let current: Sealing
        let earlier: [Sealing]

        init(_ ring: SealingKeyRing, isForNewStore: Bool) async throws {
            self.current = try Sealing(key: try await ring.current.sealingKey(isForNewStore: isForNewStore))
            var earlier: [Sealing] = []
            for provider in ring.earlier {
                earlier.append(try Sealing(key: try await provider.sealingKey(isForNewStore: false)))
            }
            self.earlier = earlier
        }
    }

    static func hasAny(_ connection: PostgresConnection) throws -> Bool {
        try connection.run("SELECT EXISTS (SELECT FROM sealing_key)", [], .none)[0].boolean(0)
    }

    /// Finds the keys that the database knows, and makes the current one known to it when that is safe: in a new store, or
    /// when another key of the ring proves that the ring belongs to this store.
    static func load(_ fetched: Fetched, _ connection: PostgresConnection) throws -> OpenKeys {
        if let keys = try self.match(fetched, self.checks(connection)) { return keys }
        let check = try fetched.current.makeKeyCheck()
        return try connection.transaction { transaction in
            // No right to the table is needed for it.
            try transaction.run("SELECT pg_advisory_xact_lock('sealing_key'::regclass::oid::int8)")
            // Another node may have been quicker.
            let checks = try Self.checks(transaction.run(Self.query))
            if let keys = try Self.match(fetched, checks) { return keys }
            let isOurs = checks.contains { check in fetched.earlier.contains { $0.matches(keyCheck: check.value) } }
            guard checks.isEmpty || isOurs else { throw Self.wrongKey() }
            try transaction.run("INSERT INTO sealing_key (key_check) VALUES ($1)", [.bytes(check)])
            guard let keys = try Self.match(fetched, Self.checks(transaction.run(Self.query))) else {
                throw Self.wrongKey()
            }
            return keys
        }
    }

    private static let query = "SELECT number, key_check FROM sealing_key ORDER BY number"

    private static func checks(_ connection: PostgresConnection) throws -> [Int64: [UInt8]] {
        try self.checks(connection.run(self.query, [], .none))
    }

    private static func checks(_ rows: PostgresRows) throws -> [Int64: [UInt8]] {
        Dictionary(try rows.map { (try $0.integer(0), try $0.bytes(1)) }, uniquingKeysWith: { $1 })
    }

    /// Returns `nil` when the database does not know the current key.
    private static func match(_ fetched: Fetched, _ checks: [Int64: [UInt8]]) throws -> OpenKeys? {
        var sealings: [Int64: Sealing] = [:]
        var current: Int64?
        for (number, check) in checks {
            if fetched.current.matches(keyCheck: check) {
                current = max(number, current ?? number)
                sealings[number] = fetched.current
            } else {
                sealings[number] = fetched.earlier.first { $0.matches(keyCheck: check) }
            }
        }
        return current.map { OpenKeys(current: $0, sealings: sealings) }
    }

    private static func wrongKey() -> MobileTokenError {
        MobileTokenError(
            .storeWrongSealingKey,
            "The store has secrets that were sealed with a key which is not in the ring"
        )
    }
}
