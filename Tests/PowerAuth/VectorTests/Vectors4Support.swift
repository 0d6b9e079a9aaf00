import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

extension Trait where Self == ConditionTrait {
    /// Cases that need ML-KEM and ML-DSA. Where libcrypto has neither, they are reported as skipped.
    static var postQuantum: Self {
        .enabled(
            if: AlgorithmSuite.available == AlgorithmSuite.allCases,
            "\(CryptoLibrary.version) has no ML-KEM and ML-DSA; OpenSSL 3.5 has"
        )
    }

    /// Suites of version 4 without their file are disabled.
    static func vectors4(_ name: String) -> Self { .enabled(if: VectorFile.exists(name, in: .version4)) }
}

/// Makes sure that the cases above ran where they must: `Scripts/test` sets the variable.
@Suite struct PostQuantumVectors4 {
    @Test(.enabled(if: ProcessInfo.processInfo.environment["POWERAUTH_REQUIRE_POST_QUANTUM"] != nil))
    func everySuiteIsAvailable() {
        #expect(AlgorithmSuite.available == AlgorithmSuite.allCases, "\(CryptoLibrary.version)")
    }
}

extension Bytes {
    var p384PrivateKey: P384PrivateKey {
        get throws { try P384PrivateKey(scalar: self.secret) }
    }

    var p384PublicKey: P384PublicKey {
        get throws { try P384PublicKey(x963: self.bytes) }
    }
}

/// The client's keys of an agreement on a shared secret.
struct AgreementKeys: Decodable {
    let ecPrivateKey: Bytes
    let mlkemSeed: Bytes?

    func agreement(_ suite: AlgorithmSuite) throws -> Version4.SharedSecretAgreement {
        try Version4.SharedSecretAgreement(
            suite: suite,
            ecKey: try self.ecPrivateKey.p384PrivateKey,
            mlkemSeed: self.mlkemSeed?.secret ?? SecretBytes(copying: [])
        )
    }
}

struct PrivateKeys: Decodable {
    let ecdsaPrivate: Bytes
    let mldsaSeed: Bytes?

    func keys(_ suite: AlgorithmSuite) throws -> Version4.SigningPrivateKeys {
        try Version4.SigningPrivateKeys(
            suite: suite,
            ecdsa: try self.ecdsaPrivate.p384PrivateKey,
            mldsaSeed: self.mldsaSeed?.secret ?? SecretBytes(copying: [])
        )
    }
}

/// JSON of a case, to be read by the product's own decoders.
func decodeJSON<Value: Decodable>(_ type: Value.Type, _ value: JSONValue?) throws -> Value {
    try JSONDecoder().decode(type, from: Data((value ?? .null).serialized()))
}

/// The JSON in some bytes, for comparing without regard to the order of members.
func json(_ bytes: [UInt8]) throws -> JSONValue { try JSONValue(parsing: bytes) }

func encodeJSON(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    return [UInt8](try encoder.encode(value))
}
