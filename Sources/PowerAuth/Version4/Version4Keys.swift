package import PowerAuthCrypto
package import PowerAuthProtocol

/// What an activation of version 4 keeps.
///
/// Nothing here can unlock the knowledge factor without the password, or the device's private keys without the vault: the
/// secret that all keys were derived from is forgotten.
package struct Version4Keys: Sendable, Equatable {
    package let suite: AlgorithmSuite
    package let devicePublicKeys: Version4.SigningKeysMessage
    package let serverPublicKeys: Version4.SigningKeysMessage
    package let possessionKey: SecretBytes
    package let utility: Version4.ActivationKeys.Utility
    package var knowledgeKey: Version4.ProtectedKnowledgeKey
    /// The biometry key under the key from outside; `nil` while the factor is not set up.
    package var wrappedBiometryKey: SecretBytes?
    /// The device's private keys under a key of the vault.
    package let sealedDeviceKeys: SecretBytes
    /// What the server has to be told before anything else is signed.
    package var pendingConfirmation: PendingConfirmation?

    /// A step that the server has made and waits to hear confirmed.
    package enum PendingConfirmation: Sendable, Equatable {
        /// The activation was created.
        case activation
        /// The activation was upgraded from version 3, whose state is kept until the server has gone the same way.
        case upgrade(from: Version3State)
    }

    /// What an activation of version 3 was before its upgrade.
    package struct Version3State: Sendable, Equatable {
        package let keys: Version3Keys
        package let ledger: CounterLedger

        package init(keys: Version3Keys, ledger: CounterLedger) {
            self.keys = keys
            self.ledger = ledger
        }
    }

    package init(
        suite: AlgorithmSuite,
        devicePublicKeys: Version4.SigningKeysMessage,
        serverPublicKeys: Version4.SigningKeysMessage,
        possessionKey: SecretBytes,
        utility: Version4.ActivationKeys.Utility,
        knowledgeKey: Version4.ProtectedKnowledgeKey,
        wrappedBiometryKey: SecretBytes?,
        sealedDeviceKeys: SecretBytes,
        pendingConfirmation: PendingConfirmation?
    ) {
        self.suite = suite
        self.devicePublicKeys = devicePublicKeys
        self.serverPublicKeys = serverPublicKeys
        self.possessionKey = possessionKey
        self.utility = utility
        self.knowledgeKey = knowledgeKey
        self.wrappedBiometryKey = wrappedBiometryKey
        self.sealedDeviceKeys = sealedDeviceKeys
        self.pendingConfirmation = pendingConfirmation
    }
}

extension Version4Keys {
    /// Whether the server may not know yet that its new keys are stored.
    var isUpgradeUnconfirmed: Bool {
        guard case .upgrade? = self.pendingConfirmation else { return false }
        return true
    }
}

extension ActivationRecord {
    /// The keys of an activation of version 4; `nil` for others. Setting it to `nil` does nothing.
    package var version4: Version4Keys? {
        get {
            guard case .version4(let keys) = self.keys else { return nil }
            return keys
        }
        set { if let newValue { self.keys = .version4(newValue) } }
    }
}
