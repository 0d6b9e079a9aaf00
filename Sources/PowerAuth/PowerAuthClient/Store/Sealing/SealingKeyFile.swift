import PowerAuthCrypto

/// A sealing key in a file; see ``SealingKeyProvider/file(_:)``.
struct SealingKeyFile {
    let path: String

    /// Reads the file, or creates it for a new store.
    ///
    /// - Throws: `storeSealingKeyMissing`, `storeUnreadable`, or `storePermissions` if others may read it.
    func key(isForNewStore: Bool) throws -> SecretBytes {
        if isForNewStore, !PrivateFile.exists(self.path) {
            let key = SecureRandom.secret(Sealing.keyByteCount)
            try PrivateFile.createFolder(PrivateFile.folder(of: self.path))
            // Of two processes that start at once, one creates the file atomically, and both read it.
            _ = try key.withUnsafeBytes { try PrivateFile.create(self.path, holding: $0) }
        }
        guard PrivateFile.exists(self.path) else {
            throw MobileTokenError(.storeSealingKeyMissing, "There is no sealing key at \(self.path)")
        }
        try PrivateFile.check(self.path)
        return try PrivateFile.read(self.path, byteCount: Sealing.keyByteCount)
    }
}
