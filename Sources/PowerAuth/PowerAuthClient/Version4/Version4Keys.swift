package import PowerAuthCrypto
package import PowerAuthProtocol

/// The keys of a version 4 activation. They cannot unlock the knowledge factor without the password, or the device's private keys
/// without the vault: the common secret is not stored.
package struct Version4Keys: Sendable, Equatable {
    package let suite: AlgorithmSuite
    package let devicePublicKeys: Version4.SigningKeysMessage
    package let serverPublicKeys: Version4.SigningKeysMessage
    package let possessionKey: SecretBytes
    package let utility: Version4.ActivationKeys.Utility
    package var knowledgeKey: Version4.ProtectedKnowledgeKey
    /// During a password change, the second of the old and the new key, until the server has shown which one it accepts.
    package var otherKnowledgeKey: Version4.ProtectedKnowledgeKey?
    /// The biometry key, encrypted with the external key; `nil` if the factor is not set up.
    package var wrappedBiometryKey: SecretBytes?
    /// While the biometry key is replaced, the second of the old and the new one.
    package var otherBiometryKey: SecretBytes?
    /// The device's private keys, encrypted with a vault key.
    package let sealedDeviceKeys: SecretBytes
    /// The confirmation that must precede other signatures.
    package var pendingConfirmation: PendingConfirmation?

    /// The server's step that needs a confirmation.
    package enum PendingConfirmation: Sendable, Equatable {
        case activation
        /// The activation was upgraded from version 3. Its former state is kept until the server has completed the upgrade.
        case upgrade(from: Version3State)
    }

    /// The state of a version 3 activation before its upgrade.
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

// MARK: - Changing a factor

/// Selects one of a factor's two keys while it is being changed.
enum KeyChoice: Sendable {
    /// The key that the server more likely accepts.
    case likely
    /// The other key, if there are two.
    case other
}

extension Version4Keys {
    func knowledgeKey(_ choice: KeyChoice) -> Version4.ProtectedKnowledgeKey {
        choice == .other ? self.otherKnowledgeKey ?? self.knowledgeKey : self.knowledgeKey
    }

    func wrappedBiometryKey(_ choice: KeyChoice) -> SecretBytes? {
        choice == .other ? self.otherBiometryKey ?? self.wrappedBiometryKey : self.wrappedBiometryKey
    }

    /// Adds a new knowledge key to the one that signed for it, which is thereby proven.
    mutating func add(_ key: Version4.ProtectedKnowledgeKey, agreedOnBy keys: SigningKeys) {
        self.keepProven(keys)
        self.otherKnowledgeKey = key
    }

    /// Adds a new biometry key. As the first one it is valid at once; otherwise it is kept beside the old one.
    mutating func add(biometryKey wrapped: SecretBytes) {
        guard self.wrappedBiometryKey != nil else { return self.wrappedBiometryKey = wrapped }
        self.otherBiometryKey = wrapped
    }

    func changed(_ change: (inout Self) -> Void) -> Self {
        var keys = self
        change(&keys)
        return keys
    }

    /// Drops the other key of a factor with a proven key.
    mutating func keepProven(_ keys: SigningKeys) {
        if let other = self.otherKnowledgeKey, let salt = keys.knowledgeGeneration {
            if other.salt == salt { self.knowledgeKey = other }
            if self.knowledgeKey.salt == salt { self.otherKnowledgeKey = nil }
        }
        if let other = self.otherBiometryKey, let wrapped = keys.wrappedBiometryKey {
            if other == wrapped { self.wrappedBiometryKey = other }
            if self.wrappedBiometryKey == wrapped { self.otherBiometryKey = nil }
        }
    }

    mutating func preferOtherKnowledgeKey() {
        guard let other = self.otherKnowledgeKey else { return }
        (self.knowledgeKey, self.otherKnowledgeKey) = (other, self.knowledgeKey)
    }

    mutating func preferOtherBiometryKey() {
        guard let other = self.otherBiometryKey else { return }
        (self.wrappedBiometryKey, self.otherBiometryKey) = (other, self.wrappedBiometryKey)
    }
}

extension Version4Keys {
    /// Indicates whether the server may not know yet that its new keys are stored.
    var isUpgradeUnconfirmed: Bool {
        guard case .upgrade? = self.pendingConfirmation else { return false }
        return true
    }
}

extension ActivationRecord {
    /// The version 4 keys; `nil` for another version. Setting `nil` does nothing.
    package var version4: Version4Keys? {
        get {
            guard case .version4(let keys) = self.keys else { return nil }
            return keys
        }
        set { if let newValue { self.keys = .version4(newValue) } }
    }
}
