import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("kdf-internal")))
struct InternalKeyDerivationVectors {
    struct Input: Decodable {
        let key: Bytes
        let index: Bytes
    }

    struct Output: Decodable {
        let derivedKey: Bytes
        let hmacSha256: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "kdf-internal"))
    func derivedKey(_ vector: Vector<Input, Output>) {
        let tag = HMACSHA256.authenticate(vector.input.index.bytes, key: vector.input.key.secret)
        #expect(tag == vector.output.hmacSha256.bytes)
        let derived = KeyDerivation.deriveInternal(vector.input.key.secret, index: vector.input.index.bytes)
        #expect(derived == vector.output.derivedKey.secret)
    }
}
