public import PowerAuth

/// The keys that the secrets of a store may be sealed with: one that seals, and those of earlier times, which still open.
///
/// To replace a key while nodes sign:
/// 1. Give every node a ring with the new key among `earlier`, so that each can read what another one seals with it.
/// 2. Give every node a ring with the new key as `current` and the old one among `earlier`.
/// 3. Call ``PowerAuth/ActivationStore/reseal()`` on any node, which seals everything with the current key, in small steps.
/// 4. Call ``PowerAuth/ActivationStore/retireUnusedKeys()``, and take the old key out of the rings.
///
/// A key in a file that a node makes for itself serves no other node: keys of a shared store come from one place.
public struct SealingKeyRing: Sendable {
    /// The key that seals.
    public let current: any SealingKeyProvider
    /// Keys that only open.
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
