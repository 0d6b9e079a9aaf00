package import PowerAuthCrypto
package import PowerAuthProtocol

/// The keys of an activation of version 4.
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
    /// While the password is being changed, the other of the old key and the new one. It goes as soon as the server has shown
    /// which of the two it takes.
    package var otherKnowledgeKey: Version4.ProtectedKnowledgeKey?
    /// The biometry key under the key from outside; `nil` while the factor is not set up.
    package var wrappedBiometryKey: SecretBytes?
    /// While the biometry key is being replaced, the other of the old one and the new one.
    package var otherBiometryKey: SecretBytes?
    /// The device's private keys under a key of the vault.
    package let sealedDeviceKeys: SecretBytes
    /// The confirmation that the server needs before anything else is signed.
    package var pendingConfirmation: PendingConfirmation?

    /// A step that the server has made and waits to hear confirmed.
    package enum PendingConfirmation: Sendable, Equatable {
        /// The activation was created.
        case activation
        /// The activation was upgraded from version 3, whose state is kept until the server has gone the same way.
        case upgrade(from: Version3State)
    }

    /// The state of an activation of version 3 before its upgrade.
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

/// Of the keys of a factor that is being changed, one.
enum KeyChoice: Sendable {
    /// The one that most likely serves.
    case likely
    /// The other, if there are two.
    case other
}

extension Version4Keys {
    func knowledgeKey(_ choice: KeyChoice) -> Version4.ProtectedKnowledgeKey {
        choice == .other ? self.otherKnowledgeKey ?? self.knowledgeKey : self.knowledgeKey
    }

    func wrappedBiometryKey(_ choice: KeyChoice) -> SecretBytes? {
        choice == .other ? self.otherBiometryKey ?? self.wrappedBiometryKey : self.wrappedBiometryKey
    }

    /// Keeps a new knowledge key beside the one that signed for it, which the server knows by that.
    mutating func add(_ key: Version4.ProtectedKnowledgeKey, agreedOnBy keys: SigningKeys) {
        self.keepProven(keys)
        self.otherKnowledgeKey = key
    }

    /// Keeps a new biometry key. The server puts it in the place of none at once, and beside another one.
    mutating func add(biometryKey wrapped: SecretBytes) {
        guard self.wrappedBiometryKey != nil else { return self.wrappedBiometryKey = wrapped }
        self.otherBiometryKey = wrapped
    }

    func changed(_ change: (inout Self) -> Void) -> Self {
        var keys = self
        change(&keys)
        return keys
    }

    /// Lets go of the other key of a factor whose key was proved.
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

    /// Takes the other key of the knowledge factor for the likely one.
    mutating func preferOtherKnowledgeKey() {
        guard let other = self.otherKnowledgeKey else { return }
        (self.knowledgeKey, self.otherKnowledgeKey) = (other, self.knowledgeKey)
    }

    /// Takes the other key of the biometry factor for the likely one.
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
    /// The keys of an activation of version 4; `nil` for others. Setting it to `nil` does nothing.
    package var version4: Version4Keys? {
        get {
            guard case .version4(let keys) = self.keys else { return nil }
            return keys
        }
        set { if let newValue { self.keys = .version4(newValue) } }
    }
}
