import Glibc
import SQLiteDatabase

extension ActivationStore {
    /// Copies the store, as it is at one moment, into a file of mode 0600 that must not be there yet. Others may use the store
    /// meanwhile.
    ///
    /// The copy is checked before it has its name: SQLite reads all of it, and every activation in it opens with the store's key.
    ///
    /// - Returns: The identifiers of the activations in the copy.
    /// - Throws: `storeUnreadable` when there is no store, or a file of that name; `storeCorrupted` when the store is damaged, and
    ///   as ``open()``. No file is left then.
    package func backUp(to path: String) async throws -> [String] {
        let driver = try self.sqlite
        // Opening would make one.
        guard PrivateFile.exists(self.name) else {
            throw MobileTokenError(.storeUnreadable, "There is no store at \(self.name)")
        }
        _ = try await self.opened()
        let temporary = PrivateFile.temporaryName(for: path)
        defer { unlink(temporary) }
        // SQLite would make it readable by others.
        _ = try PrivateFile.create(temporary, holding: UnsafeRawBufferPointer(start: nil, count: 0))
        let rows = try await driver.copy(to: temporary)
        for row in rows { _ = try await self.sealing(row.key).open(row.sealed) }
        try PrivateFile.publish(temporary, as: path)
        return rows.map(\.sealed.activationID)
    }
}

extension SQLiteDriver {
    /// Copies the store as it is at one moment, reads all of the copy, and returns its activations.
    fileprivate func copy(to path: String) throws -> [LoadedRow] {
        try self.run { database in
            try database.connection.copy(to: path)
            let copy = try ActivationDatabase(copy: path)
            guard try copy.connection.isIntact() else { throw MobileTokenError.damaged("database") }
            return try copy.activationIDs(.all).map { id in
                guard let row = try copy.activation(id) else { throw MobileTokenError.damaged(id) }
                return row
            }
        }
    }
}
