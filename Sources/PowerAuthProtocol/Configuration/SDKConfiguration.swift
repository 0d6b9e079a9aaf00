package import PowerAuthCrypto

/// What an application needs to know of its server besides the URL: the text that the server's administrator hands out.
///
/// Base64 of a version byte `01`; application key and application secret (16 bytes each), each after its length; the number
/// of public keys; and for each an identifying byte (`01` is P-256) and the key after its length. A length or number takes
/// one byte up to 0x7F, or two or four bytes, big-endian, whose top bits `10` or `11` mark them and do not count.
public struct SDKConfiguration: Sendable, Equatable {
    /// The application key, in Base64: names the application in every request.
    public let applicationKey: String
    /// The application secret.
    public let applicationSecret: ApplicationSecret
    package let masterPublicKey: P256PublicKey

    package init(applicationKey: String, applicationSecret: ApplicationSecret, masterPublicKey: P256PublicKey) {
        self.applicationKey = applicationKey
        self.applicationSecret = applicationSecret
        self.masterPublicKey = masterPublicKey
    }

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
        let characters = text.utf8.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
        guard !characters.isEmpty else { throw .empty }
        guard let bytes = Base64.decode(String(decoding: Array(characters), as: UTF8.self)) else { throw .notBase64 }
        var reader = Reader(rest: bytes[...])
        guard try reader.byte() == Self.formatVersion else { throw .unsupportedVersion }
        let applicationKey = try reader.block()
        guard applicationKey.count == Self.keyByteCount else { throw .invalidApplicationKey }
        let secret = SecretBytes(copying: try reader.block())
        guard let applicationSecret = ApplicationSecret(bytes: secret) else { throw .invalidApplicationSecret }
        var masterPublicKey: P256PublicKey?
        for _ in 0..<(try reader.count()) {
            let identifier = try reader.byte()
            let point = try reader.block()
            guard identifier == Self.p256Identifier else { continue }  // a kind of key that is not for us
            guard masterPublicKey == nil, let key = try? P256PublicKey(x963: [UInt8](point)) else {
                throw .invalidMasterPublicKey
            }
            masterPublicKey = key
        }
        guard reader.rest.isEmpty else { throw .trailingBytes }
        guard let masterPublicKey else { throw .missingMasterPublicKey }
        self.init(
            applicationKey: Base64.encode([UInt8](applicationKey)),
            applicationSecret: applicationSecret,
            masterPublicKey: masterPublicKey
        )
    }

    /// The configuration as text, which holds the application secret.
    public var text: String {
        var bytes: [UInt8] = [Self.formatVersion]
        Self.append(Base64.decode(self.applicationKey) ?? [], to: &bytes)
        Self.append(self.applicationSecret.bytes.disclosed, to: &bytes)
        bytes += [1, Self.p256Identifier]
        Self.append(self.masterPublicKey.uncompressed, to: &bytes)
        return Base64.encode(bytes)
    }

    private static let formatVersion: UInt8 = 0x01
    private static let p256Identifier: UInt8 = 0x01
    private static let keyByteCount = 16

    /// Appends at most 127 bytes after their number.
    private static func append(_ block: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(UInt8(block.count))
        bytes += block
    }

    /// Takes a configuration apart from its beginning.
    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func byte() throws(SDKConfigurationError) -> UInt8 {
            guard let byte = self.rest.popFirst() else { throw .truncated }
            return byte
        }

        mutating func count() throws(SDKConfigurationError) -> Int {
            let first = try self.byte()
            guard first >= 0x80 else { return Int(first) }
            var count = Int(first & 0x3F)
            for _ in 0..<(first < 0xC0 ? 1 : 3) { count = count << 8 | Int(try self.byte()) }
            return count
        }

        mutating func block() throws(SDKConfigurationError) -> ArraySlice<UInt8> {
            let count = try self.count()
            guard count <= self.rest.count else { throw .truncated }
            defer { self.rest = self.rest.dropFirst(count) }
            return self.rest.prefix(count)
        }
    }
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
    /// The master key is not a point of P-256, or there are two.
    public static let invalidMasterPublicKey = Self(description: "invalidMasterPublicKey")
    /// There is no key of a kind that this version of the package knows.
    public static let missingMasterPublicKey = Self(description: "missingMasterPublicKey")
}
