import PowerAuthCrypto
import Testing

@Suite(.vectors4("ecdsa"))
struct ECDSAVectors4 {
    struct Input: Decodable {
        let privateKey: Bytes?
        let publicKey: Bytes
        let message: Bytes
        let signatureDer: Bytes?
        let signatureJose: Bytes?
    }

    struct Output: Decodable { let valid: Bool }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecdsa", of: .version4))
    func signatures(_ vector: Vector<Input, Output>) throws {
        let (input, valid) = (vector.input, vector.output.valid)
        let message = input.message.bytes
        let publicKey = try input.publicKey.p384PublicKey
        #expect(try P384PublicKey(x963: publicKey.compressed) == publicKey)
        if let signature = input.signatureDer?.bytes {
            #expect(publicKey.isValid(derSignature: signature, for: message) == valid)
        }
        if let signature = input.signatureJose?.bytes {
            #expect(publicKey.isValid(rawSignature: signature, for: message) == valid)
        }
        guard let key = try input.privateKey?.p384PrivateKey else { return }
        #expect(key.publicKey == publicKey)
        #expect(publicKey.isValid(derSignature: try key.derSignature(for: message), for: message))
        let raw = try key.rawSignature(for: message)
        #expect(publicKey.isValid(rawSignature: raw, for: message))
        #expect(try ECDSASignature.raw(fromDER: ECDSASignature.der(fromRaw: raw, curve: .p384), curve: .p384) == raw)
    }
}
