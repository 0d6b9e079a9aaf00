import PowerAuthCrypto
import Testing

@Suite(.enabled(if: VectorFile.exists("ecdsa")))
struct ECDSAVectors {
    struct Verification: Decodable {
        let privateKey: Bytes
        let publicKey: Bytes
        let message: Bytes
        let signature: Bytes
    }

    struct Validity: Decodable {
        let valid: Bool
    }

    @Test(arguments: try Vector<Verification, Validity>.all(in: "ecdsa", operation: "verify"))
    func verification(_ vector: Vector<Verification, Validity>) throws {
        let (input, isValid) = (vector.input, vector.output.valid)
        let key = try input.publicKey.publicKey
        let signature = input.signature.bytes
        #expect(key.isValid(derSignature: signature, for: input.message.bytes) == isValid)
        #expect(!key.isValid(derSignature: signature, for: input.message.bytes + [0]))
        guard isValid else { return }
        let raw = try ECDSASignature.raw(fromDER: signature)
        #expect(key.isValid(rawSignature: raw, for: input.message.bytes))
        #expect(try ECDSASignature.der(fromRaw: raw) == signature)
    }

    @Test(arguments: try Vector<Verification, Validity>.all(in: "ecdsa", operation: "verify"))
    func whatWeSignVerifies(_ vector: Vector<Verification, Validity>) throws {
        let key = try vector.input.privateKey.privateKey
        let message = vector.input.message.bytes
        #expect(key.publicKey.isValid(derSignature: try key.derSignature(for: message), for: message))
        #expect(key.publicKey.isValid(rawSignature: try key.rawSignature(for: message), for: message))
    }

    struct Import: Decodable {
        let publicKey: Bytes
    }

    struct Imported: Decodable {
        let valid: Bool
        let uncompressed: Bytes?
        let compressed: Bytes?
    }

    @Test(arguments: try Vector<Import, Imported>.all(in: "ecdsa", operation: "importPublicKey"))
    func publicKeyImport(_ vector: Vector<Import, Imported>) throws {
        let point = vector.input.publicKey.bytes
        // The reference takes the hybrid form (06/07, X and Y). We do not: nothing sends it, the ephemeral key of a request
        // goes into its keys as transmitted, and a third spelling of a point is only good for telling receivers apart.
        let isHybrid = point.first == 0x06 || point.first == 0x07
        guard vector.output.valid, !isHybrid else {
            #expect(throws: CryptoError(.invalidPublicKey)) { try P256PublicKey(x963: point) }
            return
        }
        let key = try P256PublicKey(x963: point)
        #expect(key.uncompressed == vector.output.uncompressed?.bytes)
        #expect(key.compressed == vector.output.compressed?.bytes)
    }
}
