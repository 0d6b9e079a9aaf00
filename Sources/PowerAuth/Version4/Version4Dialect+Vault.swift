import PowerAuthCrypto
import PowerAuthProtocol

/// The vault: keys that only the server keeps, each handed out for the length of one call.
extension Version4Dialect {
    func dataKey(
        of activation: Activation,
        index: UInt64,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) async throws -> SecretBytes {
        try await self.openVault(.applicationKnowledge, of: activation, with: authentication, reason: reason) {
            key,
            _ in
            try MobileTokenError.mapCryptoErrors {
                try Version4.ApplicationVaultKey.derive(
                    from: key,
                    of: .applicationKnowledge,
                    index: index,
                    count: Version4.ApplicationVaultKey.minimumByteCount
                )
            }
        }
    }

    func applicationKey(
        of activation: Activation,
        base: ApplicationKeyBase,
        index: UInt64,
        byteCount: Int,
        with authentication: Authentication,
        reason: VaultUnlockReason
    ) async throws -> SecretBytes {
        guard byteCount >= Version4.ApplicationVaultKey.minimumByteCount else {
            throw MobileTokenError(.invalidRequest, "An application's key must have 16 bytes or more")
        }
        let identifier = base.version4
        return try await self.openVault(identifier, of: activation, with: authentication, reason: reason) { key, _ in
            try MobileTokenError.mapCryptoErrors {
                try Version4.ApplicationVaultKey.derive(from: key, of: identifier, index: index, count: byteCount)
            }
        }
    }

    func withDevicePrivateKeys<Result: Sendable>(
        of activation: Activation,
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (DevicePrivateKeys) throws -> Result
    ) async throws -> Result {
        try await self.openVault(.devicePrivateKeys, of: activation, with: authentication, reason: reason) {
            key,
            keys in
            let privateKeys = try MobileTokenError.mapCryptoErrors {
                let sealed = Version4.SealedDeviceKeys(bytes: keys.sealedDeviceKeys.withUnsafeBytes { Array($0) })
                return try sealed.open(suite: keys.suite, activationID: self.activationID, vaultKey: key)
            }
            return try use(.version4(privateKeys))
        }
    }

    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8] {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors {
            try P384PublicKey(x963: keys.devicePublicKeys.ecdsa).compressed
        }
    }

    func confirmRecoveryCode(_ code: String, of activation: Activation, with authentication: Authentication) throws
        -> Bool
    {
        throw MobileTokenError.unsupported("Version 4 of the protocol has no recovery codes")
    }

    /// Fetches a key of the vault and lends it to `use`, which runs to its end even when the caller is canceled by then.
    private func openVault<Result: Sendable>(
        _ identifier: Version4.VaultKeyIdentifier,
        of activation: Activation,
        with authentication: Authentication,
        reason: VaultUnlockReason,
        _ use: @escaping @Sendable (SecretBytes, Version4Keys) async throws -> Result
    ) async throws -> Result {
        let type = Version4.AuthenticationCodeType(rawValue: SignatureType(authentication).rawValue)
        guard let type, identifier.allowedTypes.contains(type) else {
            throw MobileTokenError(.invalidAuthentication, "These factors do not open this key of the vault")
        }
        guard let content = Version4.VaultRequest(keyIdentifier: identifier, reason: reason.rawValue) else {
            throw MobileTokenError(.invalidRequest, "A reason has 3 to 255 letters, digits, '_', '-' or '.'")
        }
        let request = try EndpointRequest(.vaultUnlock, content)
        let path = try request.endpoint.path(in: self.version)
        return try await activation.send(with: authentication, in: self) { keys in
            try SignedRequest(request, keys: keys)
        } receive: { response in
            let unlocked = try Wire.decode(Version4.VaultResponse.self, from: response, of: path)
            return try await use(unlocked.vaultEncryptionKey, try self.keys(of: try await activation.storedRecord()))
        }
    }
}

extension ApplicationKeyBase {
    fileprivate var version4: Version4.VaultKeyIdentifier {
        switch self {
        case .knowledge: .applicationKnowledge
        case .twoFactors: .applicationTwoFactor
        }
    }
}
