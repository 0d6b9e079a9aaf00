import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("kdf")))
struct KeyDerivationVectors {
    struct Input: Decodable {
        let masterKey: Bytes
        let index: UInt64
        let indexBytes: Bytes
    }

    struct Output: Decodable {
        let derivedKey: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "kdf"))
    func derivedKey(_ vector: Vector<Input, Output>) throws {
        let derived = try KeyDerivation.derive(vector.input.masterKey.secret, index: vector.input.index)
        #expect(derived == vector.output.derivedKey.secret)
        // The index as it is encrypted, by the cipher alone.
        let block = try AES128CBC.encrypt(
            vector.input.indexBytes.bytes,
            key: vector.input.masterKey.secret,
            padding: .none
        )
        #expect(block == vector.output.derivedKey.bytes)
    }
}
