import Glibc
import SQLiteDatabase

extension SQLiteActivationStore {
    /// Copies the store, as it is at one moment, into a file of mode 0600 that must not be there yet. Others may use the store
    /// meanwhile.
    ///
    /// The copy is checked before it has its name: SQLite reads all of it, and every activation in it opens with the store's key.
    ///
    /// - Returns: The identifiers of the activations in the copy.
    /// - Throws: `storeUnreadable` when there is no store, or a file of that name; `storeCorrupted` when the store is damaged, and
    ///   as ``open()``. No file is left then.
    package func backUp(to path: String) async throws -> [String] {
        // Opening would make one.
        guard PrivateFile.exists(self.path) else {
            throw MobileTokenError(.storeUnreadable, "There is no store at \(self.path)")
        }
        let open = try await self.opened()
        let temporary = PrivateFile.temporaryName(for: path)
        defer { unlink(temporary) }
        // SQLite would make it readable by others.
        _ = try PrivateFile.create(temporary, holding: UnsafeRawBufferPointer(start: nil, count: 0))
        let ids = try self.mapErrors {
            try open.database.connection.copy(to: temporary)
            return try Self.check(ActivationDatabase(copy: temporary), open.sealing)
        }
        try PrivateFile.publish(temporary, as: path)
        return ids
    }

    private static func check(_ copy: ActivationDatabase, _ sealing: Sealing) throws -> [String] {
        guard try copy.connection.isIntact() else { throw MobileTokenError.damaged("database") }
        let ids = try copy.activationIDs()
        for id in ids {
            guard let stored = try copy.activation(id) else { throw MobileTokenError.damaged(id) }
            _ = try sealing.open(stored.sealed)
        }
        return ids
    }
}
