public import PowerAuthCrypto

/// The factors that sign a request, with what unlocks them.
///
/// Every signature uses the possession factor, which is the stored activation itself.
public struct Authentication: Sendable {
    package enum Knowledge: Sendable {
        case password(SecretBytes)
        case unlocked(Authentication.UnlockedFactor)
    }

    package var knowledge: Knowledge?
    package var biometryKey: SecretBytes?

    /// Possession alone: enough to reject, and for operations that ask for one factor.
    public static let possession = Self()

    /// Signs with possession and knowledge. The password's UTF-8 bytes are used as given.
    public static func possessionAndKnowledge(password: String) -> Self {
        Self(knowledge: .password(SecretBytes(utf8: password)))
    }

    /// Signs with possession and knowledge, from a password that never was a `String`.
    public static func possessionAndKnowledge(password: SecretBytes) -> Self {
        Self(knowledge: .password(password))
    }

    /// Signs with possession and knowledge, with the knowledge key unlocked before: no key derivation per signature.
    public static func possessionAndKnowledge(unlocked knowledge: Authentication.UnlockedFactor) -> Self {
        Self(knowledge: .unlocked(knowledge))
    }

    /// Signs with possession and biometry. On a server the "biometry" key is 16 bytes from outside: a file, a KMS, an
    /// HSM.
    public static func possessionAndBiometry(key biometryKey: SecretBytes) -> Self {
        Self(biometryKey: biometryKey)
    }
}

extension Authentication {
    /// A knowledge key held ready for many signatures, wiped when its last owner goes.
    public struct UnlockedFactor: Sendable {
        package let activationID: String
        package let key: SecretBytes
        /// The state of the knowledge key; the factor is of no use in any other.
        package let generation: [UInt8]
    }
}
