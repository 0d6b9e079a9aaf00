public import PowerAuthClient

/// The sealing keys of a shared store: the current one, and earlier ones for decryption.
///
/// To replace a key during operation:
/// 1. Give every node a ring with the new key in `earlier`, so that each can decrypt values that others seal with it.
/// 2. Give every node a ring with the new key as `current` and the old one in `earlier`.
/// 3. Call ``PowerAuthClient/ActivationStore/reseal()`` on any node to seal everything with the current key, in small steps.
/// 4. Call ``PowerAuthClient/ActivationStore/retireUnusedKeys()``, and remove the old key from the rings.
///
/// All nodes need the same keys, so do not use key files that nodes create themselves.
public struct SealingKeyRing: Sendable {
    /// The key for sealing.
    public let current: any SealingKeyProvider
    /// Keys only for decryption.
    public let earlier: [any SealingKeyProvider]

    /// Creates a ring.
    public init(current: any SealingKeyProvider, earlier: [any SealingKeyProvider] = []) {
        self.current = current
        self.earlier = earlier
    }
}

extension SealingKeyRing {
    var keys: SealingKeys { SealingKeys(current: self.current, earlier: self.earlier) }
}
