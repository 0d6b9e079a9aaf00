import PowerAuthCrypto
package import PowerAuthProtocol

/// The keys of an activation, which are of one version of the protocol.
package enum VersionedKeys: Sendable, Equatable {
    case version3(Version3Keys)
    case version4(Version4Keys)

    package var version: ProtocolVersion {
        switch self {
        case .version3(let keys): keys.version
        case .version4: .v4_0
        }
    }

    /// Indicates whether the biometry factor is set up.
    var hasBiometryFactor: Bool {
        switch self {
        case .version3(let keys): keys.encryptedBiometryKey != nil
        case .version4(let keys): keys.wrappedBiometryKey != nil
        }
    }
}

extension ActivationRecord {
    /// The key of the factor "something you have", which tells one set of keys from another.
    var possessionKey: SecretBytes {
        switch self.keys {
        case .version3(let keys): keys.possessionKey
        case .version4(let keys): keys.possessionKey
        }
    }

    /// Returns the codec of the activation's version.
    func dialect(applicationKeys: ApplicationEncryption) throws -> any ActivationDialect {
        switch self.keys {
        case .version3(let keys): try Version3Dialect(self, keys, applicationKeys: applicationKeys)
        case .version4(let keys): try Version4Dialect(self, keys, applicationKeys: applicationKeys)
        }
    }
}
