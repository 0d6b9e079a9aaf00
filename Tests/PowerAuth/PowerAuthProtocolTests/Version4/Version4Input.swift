import Foundation
import MobileTokenTesting
import PowerAuthCrypto
import Testing

// The random input of the tests of version 4.
extension SeededGenerator {
    mutating func p384PrivateKey() throws -> P384PrivateKey {
        var scalar = self.bytes(48)
        scalar[0] &= 0x7F  // below the order of the curve
        scalar[47] |= 1
        return try P384PrivateKey(scalar: SecretBytes(copying: scalar))
    }

    mutating func agreement(_ suite: AlgorithmSuite) throws -> Version4.SharedSecretAgreement {
        let seed = self.secret(64)
        return try Version4.SharedSecretAgreement(suite: suite, ecKey: try self.p384PrivateKey(), mlkemSeed: seed)
    }

    mutating func signingKeys(_ suite: AlgorithmSuite) throws -> Version4.SigningPrivateKeys {
        let seed = self.secret(32)
        return try Version4.SigningPrivateKeys(suite: suite, ecdsa: try self.p384PrivateKey(), mldsaSeed: seed)
    }

    mutating func version4Keys() throws -> Version4.ActivationKeys {
        try Version4.ActivationKeys(activationSecret: self.secret(32))
    }

    /// Returns arrays that differ from `bytes` in one bit, which is drawn for every byte, or for every few bytes: messages of
    /// hybrid suites have thousands of bytes, whose every bit would take minutes.
    mutating func oneBitFlipped(in bytes: [UInt8], every stride: Int = 1) -> some Sequence<[UInt8]> {
        let flips = Swift.stride(from: 0, to: bytes.count, by: stride).map { start in
            let index = Int.random(in: start..<min(start + stride, bytes.count), using: &self)
            return (index: index, bit: Int.random(in: 0..<8, using: &self))
        }
        return flips.lazy.map { bytes.withBitFlipped($0.bit, at: $0.index) }
    }
}

extension AlgorithmSuite {
    /// The hybrid suites, which need a newer libcrypto than Debian 12 has.
    static let hybrid: [Self] = [.p384MLLevel3, .p384MLLevel5]
}

extension Trait where Self == ConditionTrait {
    /// Tests that need ML-KEM and ML-DSA.
    static var postQuantum: Self {
        .enabled(
            if: AlgorithmSuite.available == AlgorithmSuite.allCases,
            "\(CryptoLibrary.version) has no ML-KEM and ML-DSA; OpenSSL 3.5 has"
        )
    }
}

func encodeJSON(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return [UInt8](try encoder.encode(value))
}

func decodeJSON<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
    try JSONDecoder().decode(type, from: Data(bytes))
}

func decodeJSON<Value: Decodable>(_ type: Value.Type, _ text: String) throws -> Value {
    try decodeJSON(type, Array(text.utf8))
}
