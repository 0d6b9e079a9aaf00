import SQLiteDatabase

extension SQLiteDriver {
    /// Reseals everything with another key in one transaction. Each row gets a new tag, so that no swap succeeds with a row
    /// loaded under the former key.
    ///
    /// - Returns: The numbers of the unreadable entries.
    func reseal(from former: JournalKeys, to sealing: Sealing) throws -> [UInt64] {
        let check = try sealing.makeKeyCheck()
        var unreadable: [UInt64] = []
        try self.write { database in
            guard try database.keys().first?.number == former.current else {
                throw MobileTokenError(.storeWrongSealingKey, "Another process has replaced the sealing key")
            }
            for activationID in try database.activationIDs(.all) {
                guard let row = try database.activation(activationID) else { continue }
                _ = try database.swap(
                    try row.resealed(from: former.currentSealing, to: sealing, key: former.current)
                )
            }
            try database.changeReceipts { entry in
                do {
                    return try former.currentSealing.reseal(
                        entry.sealed,
                        isIntent: entry.intent == nil,
                        with: sealing
                    )
                } catch let error as MobileTokenError where error.code == .storeCorrupted {
                    unreadable.append(entry.number)
                    return nil
                }
            }
            try database.addKey(check)
        }
        try self.run { $0.connection.emptyLog() }
        return unreadable
    }
}
