import Basics
import PowerAuthCrypto

/// The parts of a configuration string, with unparsed keys.
package struct SDKConfigurationContents: Sendable {
    /// The kind of a key, by its identifying byte.
    package enum KeyKind: UInt8, Sendable {
        case p256 = 1
        case p384 = 2
        case mlDSA65 = 3
        case mlDSA87 = 4
    }

    package let applicationKey: String
    package let applicationSecret: ApplicationSecret
    /// All keys in order, including unknown kinds.
    package let keys: [(kind: UInt8, bytes: [UInt8])]

    package init(applicationKey: String, applicationSecret: ApplicationSecret, keys: [(kind: UInt8, bytes: [UInt8])]) {
        self.applicationKey = applicationKey
        self.applicationSecret = applicationSecret
        self.keys = keys
    }

    package init(parsing string: String) throws(SDKConfigurationError) {
        let characters = string.utf8.trimming { $0 <= 0x20 }
        guard !characters.isEmpty else { throw .empty }
        guard let bytes = Base64.decode(String(decoding: characters, as: UTF8.self)) else { throw .notBase64 }
        var reader = Reader(rest: bytes[...])
        guard try reader.byte() == Self.formatVersion else { throw .unsupportedVersion }
        let applicationKey = try reader.block()
        guard applicationKey.count == Self.applicationKeyByteCount else { throw .invalidApplicationKey }
        let secret = SecretBytes(copying: try reader.block())
        guard let applicationSecret = ApplicationSecret(bytes: secret) else { throw .invalidApplicationSecret }
        var keys: [(UInt8, [UInt8])] = []
        for _ in 0..<(try reader.count()) { keys.append((try reader.byte(), [UInt8](try reader.block()))) }
        guard reader.rest.isEmpty else { throw .trailingBytes }
        self.init(
            applicationKey: Base64.encode([UInt8](applicationKey)),
            applicationSecret: applicationSecret,
            keys: keys
        )
    }

    package var string: String {
        var bytes: [UInt8] = [Self.formatVersion]
        Self.append(Base64.decode(self.applicationKey) ?? [], to: &bytes)
        Self.append(self.applicationSecret.bytes.disclosed, to: &bytes)
        bytes.append(UInt8(clamping: self.keys.count))
        for key in self.keys {
            bytes.append(key.kind)
            Self.append(key.bytes, to: &bytes)
        }
        return Base64.encode(bytes)
    }

    func hasKey(_ kind: KeyKind) -> Bool { self.keys.contains { $0.kind == kind.rawValue } }

    /// Returns the key of a kind, parsed by `read`; `nil` if there is none.
    ///
    /// - Throws: `invalidMasterPublicKey` if there are two, or `read` returns `nil`.
    func key<Key>(_ kind: KeyKind, _ read: ([UInt8]) -> Key?) throws(SDKConfigurationError) -> Key? {
        let found = self.keys.filter { $0.kind == kind.rawValue }
        guard let bytes = found.first?.bytes else { return nil }
        guard found.count == 1, let key = read(bytes) else { throw .invalidMasterPublicKey }
        return key
    }

    /// Returns the version 4 keys; `nil` without one for P-384.
    func version4MasterPublicKeys() throws(SDKConfigurationError) -> Version4.MasterPublicKeys? {
        let ecdsa = try self.key(.p384) { try? P384PublicKey(x963: $0) }
        var mldsa: [MLDSA: [UInt8]] = [:]
        for (kind, parameters) in [(KeyKind.mlDSA65, MLDSA.mlDSA65), (.mlDSA87, .mlDSA87)] {
            mldsa[parameters] = try self.key(kind) { bytes in
                parameters.algorithm.rawPublicKey(inPublicKeyInfo: bytes) == nil ? nil : bytes
            }
        }
        return ecdsa.flatMap { Version4.MasterPublicKeys(ecdsa: $0, mldsa: mldsa) }
    }

    private static let formatVersion: UInt8 = 0x01
    private static let applicationKeyByteCount = 16

    private static func append(_ block: [UInt8], to bytes: inout [UInt8]) {
        if block.count > 0x7F { bytes.append(0x80 | UInt8(truncatingIfNeeded: block.count >> 8)) }
        bytes.append(UInt8(truncatingIfNeeded: block.count))
        bytes += block
    }

    /// Reads a configuration's bytes from the start.
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
