public import PowerAuthCrypto

extension Activation {
    /// The factors that sign a request, and their secrets.
    ///
    /// Every signature includes the possession factor: the stored activation itself.
    public struct Authentication: Sendable {
        package enum Knowledge: Sendable {
            case password(SecretBytes)
            case unlocked(UnlockedFactor)
        }

        package var knowledge: Knowledge?
        package var biometryKey: SecretBytes?

        /// Possession alone: enough to reject, and for one-factor operations.
        public static let possession = Self()

        /// Signs with possession and knowledge. The password's UTF-8 bytes are used as given.
        public static func possessionAndKnowledge(password: String) -> Self {
            Self(knowledge: .password(SecretBytes(utf8: password)))
        }

        /// Signs with possession and knowledge, with a password that was never a `String`.
        public static func possessionAndKnowledge(password: SecretBytes) -> Self {
            Self(knowledge: .password(password))
        }

        /// Signs with possession and an unlocked knowledge key, without a key derivation per signature.
        public static func possessionAndKnowledge(unlocked knowledge: UnlockedFactor) -> Self {
            Self(knowledge: .unlocked(knowledge))
        }

        /// Signs with possession and biometry. On a server the "biometry" key is 16 external bytes, from a file, KMS or HSM.
        public static func possessionAndBiometry(key biometryKey: SecretBytes) -> Self {
            Self(biometryKey: biometryKey)
        }

        /// An unlocked knowledge key for many signatures, wiped with its last reference.
        public struct UnlockedFactor: Sendable {
            package let activationID: String
            package let key: SecretBytes
            /// The generation of the knowledge key. The factor is invalid in any other.
            package let generation: [UInt8]
        }
    }
}
