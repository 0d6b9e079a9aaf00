package import PowerAuthCrypto

/// The keys that an application and its server share, from the administrator's configuration string.
///
/// Base64 of: a version byte `01`; application key and application secret (16 bytes each) with length prefixes; the number of
/// public keys; for each, an identifying byte and the length-prefixed key: `01` P-256, `02` P-384, `03` ML-DSA-65, `04`
/// ML-DSA-87. Lengths and numbers take one byte up to 0x7F, or two or four big-endian bytes with the top bits `10` or `11`.
public struct SDKConfiguration: Sendable, Equatable {
    /// The application key in Base64. Every request contains it.
    package let applicationKey: String
    package let applicationSecret: ApplicationSecret
    /// The server's version 3 key.
    package let masterPublicKey: P256PublicKey
    /// The server's version 4 keys; `nil` if it does not support version 4.
    package let version4MasterPublicKeys: Version4.MasterPublicKeys?

    package init(
        applicationKey: String,
        applicationSecret: ApplicationSecret,
        masterPublicKey: P256PublicKey,
        version4MasterPublicKeys: Version4.MasterPublicKeys? = nil
    ) {
        self.applicationKey = applicationKey
        self.applicationSecret = applicationSecret
        self.masterPublicKey = masterPublicKey
        self.version4MasterPublicKeys = version4MasterPublicKeys
    }

    /// The version 4 suites that the server has keys for, even if this process cannot use them.
    package var suites: [AlgorithmSuite] { self.version4MasterPublicKeys?.suites ?? [] }

    /// Creates a configuration from Base64 strings.
    ///
    /// - Throws: An error that names the invalid part.
    public init(
        applicationKey: String,
        applicationSecret: String,
        masterPublicKey: String
    ) throws(SDKConfigurationError) {
        guard Base64.decode(applicationKey)?.count == Self.keyByteCount else { throw .invalidApplicationKey }
        guard let secret = ApplicationSecret(base64: applicationSecret) else { throw .invalidApplicationSecret }
        guard let point = Base64.decode(masterPublicKey), let key = try? P256PublicKey(x963: point) else {
            throw .invalidMasterPublicKey
        }
        self.init(applicationKey: applicationKey, applicationSecret: secret, masterPublicKey: key)
    }

    /// Parses a configuration string. Surrounding whitespace is ignored.
    ///
    /// - Throws: The first mistake; `requiresVersion4` if the version 3 key is missing.
    public init(parsing string: String) throws(SDKConfigurationError) {
        let contents = try SDKConfigurationContents(parsing: string)
        guard let masterPublicKey = try contents.key(.p256, { try? P256PublicKey(x963: $0) }) else {
            throw contents.hasKey(.p384) ? .requiresVersion4 : .missingMasterPublicKey
        }
        self.init(
            applicationKey: contents.applicationKey,
            applicationSecret: contents.applicationSecret,
            masterPublicKey: masterPublicKey,
            version4MasterPublicKeys: try contents.version4MasterPublicKeys()
        )
    }

    /// The configuration string, including the application secret.
    package var string: String {
        var keys = [(SDKConfigurationContents.KeyKind.p256, self.masterPublicKey.uncompressed)]
        if let version4Keys = self.version4MasterPublicKeys {
            keys = [(.p256, self.masterPublicKey.compressed), (.p384, version4Keys.ecdsa.compressed)]
            if let key = version4Keys.mldsa[.mlDSA65] { keys.append((.mlDSA65, key)) }
            if let key = version4Keys.mldsa[.mlDSA87] { keys.append((.mlDSA87, key)) }
        }
        return SDKConfigurationContents(
            applicationKey: self.applicationKey,
            applicationSecret: self.applicationSecret,
            keys: keys.map { ($0.rawValue, $1) }
        ).string
    }

    private static let keyByteCount = 16
}

extension SDKConfiguration: CustomStringConvertible {
    /// The application key without the secret.
    public var description: String { "SDKConfiguration(applicationKey: \(self.applicationKey))" }
}
