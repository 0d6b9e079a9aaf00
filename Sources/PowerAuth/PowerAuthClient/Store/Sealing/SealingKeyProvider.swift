public import PowerAuthCrypto
import Glibc

/// A source of a store's sealing key.
///
/// The store's file and this key together can sign with the possession factor. Keep them apart: a backup should contain only one
/// of them.
public protocol SealingKeyProvider: Sendable {
    /// Returns the 32-byte key.
    ///
    /// - Parameter isForNewStore: `true` if nothing is sealed yet, so that a missing key may be created.
    func sealingKey(isForNewStore: Bool) async throws -> SecretBytes
}

extension SealingKeyProvider where Self == SealingKey {
    /// Reads the key from a file of 32 random bytes, readable only by its owner and created for a new store.
    ///
    /// The store throws `storeSealingKeyMissing`, `storeUnreadable`, or `storePermissions` if others may read the file.
    public static func file(_ path: String) -> Self {
        SealingKey(description: "file:" + path) {
            try SealingKeyFile(path: path).key(isForNewStore: $0)
        }
    }

    /// Reads the key from an environment variable with 32 bytes in Base64.
    ///
    /// Other processes of the same user and child processes can read it.
    public static func environment(_ name: String) -> Self {
        SealingKey(description: "env:" + name) { _ in
            guard let text = getenv(name).map({ String(cString: $0) }), let key = Base64.decodeSecret(text) else {
                throw MobileTokenError(
                    .storeSealingKeyMissing,
                    "The environment variable \(name) is not set, or not Base64 of a sealing key"
                )
            }
            return key
        }
    }

    /// Fetches the key from a key service, each time a store is opened. Errors reach the store's caller unchanged.
    public static func closure(_ fetch: @escaping @Sendable () async throws -> SecretBytes) -> Self {
        SealingKey(description: "closure") { _ in try await fetch() }
    }
}

/// A sealing key from ``SealingKeyProvider/file(_:)``, ``SealingKeyProvider/environment(_:)`` or
/// ``SealingKeyProvider/closure(_:)``.
public struct SealingKey: SealingKeyProvider, CustomStringConvertible {
    /// The source: `file:` and the path, `env:` and the name, or `closure`.
    public let description: String
    private let fetch: @Sendable (_ isForNewStore: Bool) async throws -> SecretBytes

    fileprivate init(description: String, fetch: @escaping @Sendable (Bool) async throws -> SecretBytes) {
        self.description = description
        self.fetch = fetch
    }

    /// Fetches the key.
    public func sealingKey(isForNewStore: Bool) async throws -> SecretBytes { try await self.fetch(isForNewStore) }
}
