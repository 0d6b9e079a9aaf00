import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization

/// The device's half of the version 4 keys, for a new or upgraded activation.
struct NewKeys: Sendable {
    let suite: AlgorithmSuite
    let deviceKeys: Version4.SigningPrivateKeys
    let agreement: PendingAgreement

    init(suite: AlgorithmSuite) throws {
        self.suite = suite
        self.deviceKeys = try MobileTokenError.mapSuiteErrors { () throws(Version4.SharedSecretError) in
            try Version4.SigningPrivateKeys(suite: suite)
        }
        self.agreement = try PendingAgreement(suite: suite)
    }

    /// Derives the keys to store. The secret and the vault's keys are dropped.
    ///
    /// - Parameter path: The path of the call.
    func keys(
        of activationID: String,
        from message: Version4.NewKeysMessage,
        path: String,
        protection: NewKeyProtection,
        pending: Version4Keys.PendingConfirmation?,
        randomness: Randomness
    ) throws -> Version4Keys {
        // Refuse a key of another suite before it is stored.
        _ = try MobileTokenError.mapErrors(ofResponse: path) { try message.serverPublicKeys.keys(of: self.suite) }
        let secret = try self.agreement.secret(from: message.sharedSecretResponse, of: path)
        return try MobileTokenError.mapCryptoErrors {
            let keys = try Version4.ActivationKeys(activationSecret: secret)
            return Version4Keys(
                suite: self.suite,
                devicePublicKeys: Version4.SigningKeysMessage(self.deviceKeys.publicKeys),
                serverPublicKeys: message.serverPublicKeys,
                possessionKey: keys.possession,
                utility: keys.utility,
                knowledgeKey: try randomness.protectedKnowledgeKey(keys.knowledge, password: protection.password),
                wrappedBiometryKey: try protection.biometryKey.map {
                    try randomness.wrappedBiometryKey(keys.biometry, unlockKey: $0)
                },
                sealedDeviceKeys: SecretBytes(
                    copying: try Version4.SealedDeviceKeys(
                        sealing: self.deviceKeys,
                        activationID: activationID,
                        vaultKey: keys.vault.devicePrivateKeys,
                        nonce: randomness.bytes(Version4.AuthenticatedEncryption.nonceByteCount)
                    ).bytes
                ),
                pendingConfirmation: pending
            )
        }
    }
}

/// The private keys of a pending agreement, valid for one response.
final class PendingAgreement: Sendable {
    let request: Version4.SharedSecretRequest
    private let agreement: Mutex<Version4.SharedSecretAgreement?>

    init(suite: AlgorithmSuite) throws {
        let agreement = try MobileTokenError.mapSuiteErrors { () throws(Version4.SharedSecretError) in
            try Version4.SharedSecretAgreement(suite: suite)
        }
        self.request = agreement.request
        self.agreement = Mutex(consume agreement)
    }

    /// Returns the shared secret.
    ///
    /// - Parameter path: The path of the call.
    func secret(from response: Version4.SharedSecretResponse, of path: String) throws -> SecretBytes {
        guard let agreement = self.agreement.withLock({ $0.take() }) else {
            throw MobileTokenError.invalidResponse("The response to \(path) came twice")
        }
        do {
            return try agreement.secret(from: response)
        } catch {
            throw MobileTokenError.invalidResponse("The response to \(path) cannot be trusted", underlying: error)
        }
    }
}

extension Randomness {
    func protectedKnowledgeKey(
        _ key: SecretBytes,
        password: SecretBytes
    ) throws(CryptoError) -> Version4.ProtectedKnowledgeKey {
        try Version4.ProtectedKnowledgeKey(
            protecting: key,
            password: password,
            salt: self.bytes(Version4.ProtectedKnowledgeKey.saltByteCount),
            vector: self.bytes(Version4.KeyWrap.vectorByteCount)
        )
    }

    func wrappedBiometryKey(_ key: SecretBytes, unlockKey: SecretBytes) throws(CryptoError) -> SecretBytes {
        let wrapped = try Version4.KeyWrap.wrap(
            key,
            under: Version4.KeyDerivation.expandedBiometryKey(unlockKey),
            vector: self.bytes(Version4.KeyWrap.vectorByteCount)
        )
        return SecretBytes(copying: wrapped)
    }
}

extension MobileTokenError {
    /// Runs `body`, which makes keys of a suite. Unsupported algorithms become ``Code/suiteUnavailable``, other errors
    /// ``Code/cryptographyFailed``.
    static func mapSuiteErrors<Result: ~Copyable>(
        _ body: () throws(Version4.SharedSecretError) -> Result
    ) throws(MobileTokenError) -> Result {
        do {
            return try body()
        } catch .unavailable(let cause) {
            throw .suiteUnavailable(cause)
        } catch {
            throw MobileTokenError(.cryptographyFailed, "A cryptographic operation failed", underlying: error)
        }
    }

    static func suiteUnavailable(_ cause: SuiteUnavailableError) -> Self {
        Self(.suiteUnavailable, "This process cannot use the suite: \(cause)", underlying: cause)
    }
}
