public import PowerAuthCrypto
import Glibc

/// A source of the key that a store's secrets are sealed with.
///
/// Anyone who has the store's file and this key can sign with the possession factor, so keep the two apart where it
/// matters: a backup should hold one of them.
public protocol SealingKeyProvider: Sendable {
    /// Returns the key, 32 bytes.
    ///
    /// - Parameter isForNewStore: `true` if nothing was sealed yet, so that a key may be made when there is none. Otherwise
    ///   a new key would be of no use.
    func sealingKey(isForNewStore: Bool) async throws -> SecretBytes
}

extension SealingKeyProvider where Self == SealingKey {
    /// Reads the key from a file of 32 random bytes, made for a new store, which only its owner may read.
    ///
    /// The store throws `storeSealingKeyMissing`, `storePermissions` when others may read the file, or `storeUnreadable`.
    public static func file(_ path: String) -> Self {
        SealingKey(description: "file:" + path) {
            try SealingKeyFile(path: path).key(isForNewStore: $0)
        }
    }

    /// Reads the key from an environment variable that holds 32 bytes in Base64.
    ///
    /// Other processes of the same user can read it as long as this one runs, and so can its children.
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

    /// Fetches the key by a call to a key service, made once each time a store is opened. Its errors reach the store's
    /// caller unchanged.
    public static func closure(_ fetch: @escaping @Sendable () async throws -> SecretBytes) -> Self {
        SealingKey(description: "closure") { _ in try await fetch() }
    }
}

/// A sealing key in one of the usual places: ``SealingKeyProvider/file(_:)``, ``SealingKeyProvider/environment(_:)`` or
/// ``SealingKeyProvider/closure(_:)``.
public struct SealingKey: SealingKeyProvider, CustomStringConvertible {
    /// The place of the key: `file:` and the path, `env:` and the name, or `closure`.
    public let description: String
    private let fetch: @Sendable (_ isForNewStore: Bool) async throws -> SecretBytes

    fileprivate init(description: String, fetch: @escaping @Sendable (Bool) async throws -> SecretBytes) {
        self.description = description
        self.fetch = fetch
    }

    /// Gets the key from its place.
    public func sealingKey(isForNewStore: Bool) async throws -> SecretBytes { try await self.fetch(isForNewStore) }
}
