import PowerAuthCrypto

/// A sealing key in a file; see ``SealingKeyProvider/file(_:)``.
struct SealingKeyFile {
    let path: String

    /// Reads the file, or makes it for a new store.
    ///
    /// - Throws: `storeSealingKeyMissing`, `storePermissions` when others may read it, or `storeUnreadable`.
    func key(isForNewStore: Bool) throws -> SecretBytes {
        if isForNewStore, !PrivateFile.exists(self.path) {
            let key = SecureRandom.secret(Sealing.keyByteCount)
            try PrivateFile.createFolder(PrivateFile.folder(of: self.path))
            // Of two processes that start at once, one makes the file, whole or not at all, and both read it.
            _ = try key.withUnsafeBytes { try PrivateFile.create(self.path, holding: $0) }
        }
        guard PrivateFile.exists(self.path) else {
            throw MobileTokenError(.storeSealingKeyMissing, "There is no sealing key at \(self.path)")
        }
        try PrivateFile.check(self.path)
        return try PrivateFile.read(self.path, byteCount: Sealing.keyByteCount)
    }
}
