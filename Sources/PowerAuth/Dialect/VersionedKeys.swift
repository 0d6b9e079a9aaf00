import PowerAuthCrypto
package import PowerAuthProtocol

/// What an activation keeps beside its counter and its tokens, which is of one version of the protocol.
package enum VersionedKeys: Sendable, Equatable {
    case version3(Version3Keys)
    case version4(Version4Keys)

    package var version: ProtocolVersion {
        switch self {
        case .version3(let keys): keys.version
        case .version4: .v4_0
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

    /// Returns how the activation speaks with the server.
    func dialect(server: ServerConnection, applicationKeys: ApplicationEncryption) throws -> any ActivationDialect {
        switch self.keys {
        case .version3(let keys): try Version3Dialect(self, keys, server: server, applicationKeys: applicationKeys)
        case .version4(let keys): try Version4Dialect(self, keys, server: server, applicationKeys: applicationKeys)
        }
    }
}
