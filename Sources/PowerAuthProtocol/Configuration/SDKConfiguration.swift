package import PowerAuthCrypto

/// What an application needs to know of its server besides the URL: the text that the server's administrator hands out.
///
/// Base64 of a version byte `01`; application key and application secret (16 bytes each), each after its length; the number
/// of public keys; and for each an identifying byte and the key after its length: `01` P-256, `02` P-384, `03` ML-DSA-65,
/// `04` ML-DSA-87. A length or number takes one byte up to 0x7F, or two or four bytes, big-endian, whose top bits `10` or
/// `11` mark them and do not count.
public struct SDKConfiguration: Sendable, Equatable {
    /// The application key, in Base64: names the application in every request.
    public let applicationKey: String
    /// The application secret.
    package let applicationSecret: ApplicationSecret
    package let masterPublicKey: P256PublicKey
    /// The keys of version 4 of the protocol, where the server speaks it.
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

    /// The suites of version 4 of the protocol whose keys are here, whether or not this process can use them; none when the
    /// server speaks version 3 alone.
    package var suites: [AlgorithmSuite] { self.version4MasterPublicKeys?.suites ?? [] }

    /// Puts a configuration together from its parts, all in Base64.
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

    /// Reads a configuration text. Blanks at its ends are a mistake of copying, and cost nothing to forgive; nothing else is.
    public init(parsing text: String) throws(SDKConfigurationError) {
        let contents = try SDKConfigurationContents(parsing: text)
        guard let masterPublicKey = try contents.key(.p256, { try? P256PublicKey(x963: $0) }) else {
            throw .missingMasterPublicKey
        }
        self.init(
            applicationKey: contents.applicationKey,
            applicationSecret: contents.applicationSecret,
            masterPublicKey: masterPublicKey,
            version4MasterPublicKeys: try contents.version4MasterPublicKeys()
        )
    }

    /// The configuration as text, which holds the application secret.
    public var text: String {
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
        ).text
    }

    private static let keyByteCount = 16
}

extension SDKConfiguration: CustomStringConvertible {
    /// The application key; not the secret.
    public var description: String { "SDKConfiguration(applicationKey: \(self.applicationKey))" }
}

/// What is wrong with a configuration.
public struct SDKConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the mistake.
    public let description: String

    /// There is no text.
    public static let empty = Self(description: "empty")
    /// The text is not Base64.
    public static let notBase64 = Self(description: "notBase64")
    /// The text is of a format that this version of the package does not know.
    public static let unsupportedVersion = Self(description: "unsupportedVersion")
    /// The text ends too early: it was cut off.
    public static let truncated = Self(description: "truncated")
    /// Something follows where the configuration ends.
    public static let trailingBytes = Self(description: "trailingBytes")
    /// The application key is not 16 bytes.
    public static let invalidApplicationKey = Self(description: "invalidApplicationKey")
    /// The application secret is not 16 bytes.
    public static let invalidApplicationSecret = Self(description: "invalidApplicationSecret")
    /// A master key is not one of its kind, or there are two of a kind.
    public static let invalidMasterPublicKey = Self(description: "invalidMasterPublicKey")
    /// There is no key of a kind that this version of the package knows.
    public static let missingMasterPublicKey = Self(description: "missingMasterPublicKey")
}
