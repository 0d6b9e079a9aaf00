import Glibc
import SQLiteDatabase

extension ActivationStore {
    /// Copies a consistent state of the store to a new file with mode 0600, during normal use. The copy is checked before it gets
    /// its name: SQLite reads all of it, and every activation is decrypted.
    ///
    /// - Returns: The identifiers of the copied activations.
    /// - Throws: `storeUnreadable` if there is no store or the file exists; `storeCorrupted` if the store is damaged; the errors
    ///   of ``open()``. No file is left then.
    package func backUp(to path: String) async throws -> [String] {
        let driver = try self.sqlite
        // Opening would create a store.
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
    /// Copies the store, verifies the copy, and returns its activations.
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
