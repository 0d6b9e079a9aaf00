import PowerAuthCrypto
package import PowerAuthProtocol

package enum VersionedKeys: Sendable, Equatable {
    case version3(Version3Keys)
    case version4(Version4Keys)

    package var version: ProtocolVersion {
        switch self {
        case .version3(let keys): keys.version
        case .version4: .v4_0
        }
    }

    var hasBiometryFactor: Bool {
        switch self {
        case .version3(let keys): keys.encryptedBiometryKey != nil
        case .version4(let keys): keys.wrappedBiometryKey != nil
        }
    }
}

extension ActivationRecord {
    /// The key of the factor "something you have". It identifies a set of keys.
    var possessionKey: SecretBytes {
        switch self.keys {
        case .version3(let keys): keys.possessionKey
        case .version4(let keys): keys.possessionKey
        }
    }

    func dialect(applicationKeys: ApplicationEncryption) throws -> any ActivationDialect {
        switch self.keys {
        case .version3(let keys): try Version3Dialect(self, keys, applicationKeys: applicationKeys)
        case .version4(let keys): try Version4Dialect(self, keys, applicationKeys: applicationKeys)
        }
    }
}
