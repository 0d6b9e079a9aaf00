import PowerAuthCrypto
import PowerAuthProtocol

/// The vault of version 4: keys that the server keeps, each provided for one call.
extension Version4Dialect {
    func vaultRequest(for key: VaultKey, _ type: SignatureType, _ reason: String) throws
        -> EndpointRequest
    {
        let type = Version4.AuthenticationCodeType(rawValue: type.rawValue)
        guard let type, key.identifier.allowedTypes.contains(type) else {
            throw MobileTokenError(.invalidAuthentication, "These factors do not open this key of the vault")
        }
        guard let content = Version4.VaultRequest(keyIdentifier: key.identifier, reason: reason) else {
            throw MobileTokenError.invalidVaultReason
        }
        return try EndpointRequest(.vaultUnlock, content)
    }

    func vaultKey(in response: [UInt8], of path: String) throws -> SecretBytes {
        try Wire.decode(Version4.VaultResponse.self, from: response, of: path).vaultEncryptionKey
    }

    func dataKey(_ key: VaultKey, from vaultKey: SecretBytes, index: UInt64, byteCount: Int) throws -> SecretBytes {
        try Version4.ApplicationVaultKey.derive(from: vaultKey, of: key.identifier, index: index, count: byteCount)
    }

    func devicePrivateKeys(of record: ActivationRecord, vaultKey: SecretBytes) throws -> DevicePrivateKeys {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors {
            let sealed = Version4.SealedDeviceKeys(bytes: keys.sealedDeviceKeys.withUnsafeBytes { Array($0) })
            return .version4(try sealed.open(suite: keys.suite, activationID: self.activationID, vaultKey: vaultKey))
        }
    }

    func devicePublicKey(of record: ActivationRecord) throws -> [UInt8] {
        let keys = try self.keys(of: record)
        return try MobileTokenError.mapCryptoErrors {
            try P384PublicKey(x963: keys.devicePublicKeys.ecdsa).compressed
        }
    }
}

extension VaultKey {
    fileprivate var identifier: Version4.VaultKeyIdentifier {
        switch self {
        case .data, .application(.knowledge): .applicationKnowledge
        case .application(.twoFactors): .applicationTwoFactor
        case .devicePrivateKeys: .devicePrivateKeys
        }
    }
}
