public import PowerAuthCrypto
import Glibc

/// A source of the key that a store's secrets are sealed with.
///
/// Anyone who has the store's file and this key can sign with the possession factor, so keep the two apart where it
/// matters: a backup should hold one of them.
public protocol SealingKeyProvider: Sendable {
    /// Returns the key, 32 bytes.
    ///
    /// - Parameter isForNewStore: Whether nothing was sealed yet, so that a key may be made when there is none. Otherwise
    ///   a new key would be of no use.
    func sealingKey(isForNewStore: Bool) async throws -> SecretBytes
}

extension SealingKeyProvider where Self == SealingKeyFile {
    /// Reads the key from a file of 32 random bytes, made for a new store, which only its owner may read.
    public static func file(_ path: String) -> Self { SealingKeyFile(path: path) }
}

extension SealingKeyProvider where Self == SealingKeyVariable {
    /// Reads the key from an environment variable that holds 32 bytes in Base64.
    ///
    /// Other processes of the same user can read it as long as this one runs, and so can its children.
    public static func environment(_ name: String) -> Self { SealingKeyVariable(name: name) }
}

extension SealingKeyProvider where Self == SealingKeyClosure {
    /// Fetches the key by a call to a key service, made once each time a store is opened. Its errors reach the store's
    /// caller unchanged.
    public static func closure(_ fetch: @escaping @Sendable () async throws -> SecretBytes) -> Self {
        SealingKeyClosure(fetch: fetch)
    }
}

/// A sealing key from an environment variable; see ``SealingKeyProvider/environment(_:)``.
public struct SealingKeyVariable: SealingKeyProvider {
    private let name: String

    fileprivate init(name: String) { self.name = name }

    /// Reads the variable.
    public func sealingKey(isForNewStore: Bool) async throws -> SecretBytes {
        guard let text = getenv(self.name).map({ String(cString: $0) }), let key = Base64.decodeSecret(text) else {
            throw MobileTokenError(
                .storeSealingKeyMissing,
                "The environment variable \(self.name) is not set, or not Base64 of a sealing key"
            )
        }
        return key
    }
}

/// A sealing key from a closure; see ``SealingKeyProvider/closure(_:)``.
public struct SealingKeyClosure: SealingKeyProvider {
    private let fetch: @Sendable () async throws -> SecretBytes

    fileprivate init(fetch: @escaping @Sendable () async throws -> SecretBytes) { self.fetch = fetch }

    /// Calls the closure.
    public func sealingKey(isForNewStore: Bool) async throws -> SecretBytes { try await self.fetch() }
}
