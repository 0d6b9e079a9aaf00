import Glibc
public import PowerAuthCrypto

/// A sealing key in a file; see ``SealingKeyProvider/file(_:)``.
public struct SealingKeyFile: SealingKeyProvider {
    /// The path of the file.
    public let path: String

    /// Names a file; nothing is read yet.
    public init(path: String) { self.path = path }

    /// Reads the file, or makes it for a new store.
    ///
    /// - Throws: `storeSealingKeyMissing`, `storePermissions` when others may read it, or `storeUnreadable`.
    public func sealingKey(isForNewStore: Bool) async throws -> SecretBytes {
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

extension SealingKeyFile: CustomStringConvertible {
    /// `file:` and the path.
    public var description: String { "file:" + self.path }
}
