package import PowerAuthCrypto

/// The keys by which an application and its server know each other, from the string that the server's administrator hands out.
///
/// Base64 of a version byte `01`; application key and application secret (16 bytes each), each after its length; the number
/// of public keys; and for each an identifying byte and the key after its length: `01` P-256, `02` P-384, `03` ML-DSA-65,
/// `04` ML-DSA-87. A length or number takes one byte up to 0x7F, or two or four bytes, big-endian, marked by the top bits `10`
/// or `11`.
public struct SDKConfiguration: Sendable, Equatable {
    /// The application key in Base64, which names the application in every request.
    public let applicationKey: String
    /// The application secret.
    package let applicationSecret: ApplicationSecret
    /// The server's key of version 3 of the protocol.
    package let masterPublicKey: P256PublicKey
    /// The server's keys of version 4 of the protocol; `nil` when the server does not speak it.
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

    /// The suites of version 4 of the protocol that the server has keys for, whether or not this process can use them.
    package var suites: [AlgorithmSuite] { self.version4MasterPublicKeys?.suites ?? [] }

    /// Creates a configuration from its parts, all in Base64.
    ///
    /// - Throws: The part that is not right.
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

    /// Reads a configuration string. Whitespace around it is ignored.
    ///
    /// - Throws: The first mistake; `requiresVersion4` when the key of version 3 is missing.
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

    /// The configuration as a string, which holds the application secret.
    public var string: String {
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
    /// The application key; not the secret.
    public var description: String { "SDKConfiguration(applicationKey: \(self.applicationKey))" }
}
