import PowerAuthCrypto
import Testing

@Suite(.vectors4("mlkem"))
struct MLKEMVectors4 {
    struct Input: Decodable {
        let level: Int
        let seed: Bytes?
        let ciphertext: Bytes?
        let publicKeySpki: Bytes?

        func parameters() throws -> MLKEM {
            try #require([768: MLKEM.mlKEM768, 1024: .mlKEM1024][self.level])
        }
    }

    struct Output: Decodable {
        let publicKeySpki: Bytes?
        let secret: Bytes?
        let accepted: Bool?
    }

    @Test(.postQuantum, arguments: try Vector<Input, Output>.all(in: "mlkem", of: .version4))
    func keysAndSecrets(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let parameters = try input.parameters()
        if let accepted = output.accepted {
            let bytes = try #require(input.publicKeySpki).bytes
            let parse = { try MLKEMPublicKey(publicKeyInfo: bytes, parameters: parameters) }
            if accepted {
                #expect(try parse().publicKeyInfo == bytes)
            } else {
                #expect(throws: CryptoError(.invalidPublicKey)) { try parse() }
            }
            return
        }
        let key = try MLKEMPrivateKey(seed: try #require(input.seed).secret, parameters: parameters)
        if let publicKey = output.publicKeySpki { #expect(key.publicKey.publicKeyInfo == publicKey.bytes) }
        let ciphertext = try #require(input.ciphertext).bytes
        guard let secret = output.secret else {
            #expect(throws: CryptoError(.invalidLength)) { try key.decapsulate(ciphertext) }
            return
        }
        #expect(try key.decapsulate(ciphertext) == secret.secret)
        let made = try MLKEMPublicKey(publicKeyInfo: key.publicKey.publicKeyInfo, parameters: parameters).encapsulate()
        #expect(try key.decapsulate(made.ciphertext) == made.secret)
    }
}

@Suite(.vectors4("mldsa"))
struct MLDSAVectors4 {
    struct Input: Decodable {
        let level: Int
        let seed: Bytes?
        let publicKeySpki: Bytes
        let message: Bytes?
        let signature: Bytes?
    }

    struct Output: Decodable {
        let valid: Bool?
        let accepted: Bool?
    }

    @Test(.postQuantum, arguments: try Vector<Input, Output>.all(in: "mldsa", of: .version4))
    func signatures(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let parameters = try #require([65: MLDSA.mlDSA65, 87: .mlDSA87][input.level])
        let parse = { try MLDSAPublicKey(publicKeyInfo: input.publicKeySpki.bytes, parameters: parameters) }
        if output.accepted == false {
            #expect(throws: CryptoError(.invalidPublicKey)) { try parse() }
            return
        }
        let message = try #require(input.message).bytes
        let publicKey = try parse()
        #expect(publicKey.isValid(try #require(input.signature).bytes, for: message) == output.valid)
        guard let seed = input.seed else { return }
        let key = try MLDSAPrivateKey(seed: seed.secret, parameters: parameters)
        #expect(key.publicKey == publicKey)
        let signature = try key.signature(for: message)
        #expect(publicKey.isValid(signature, for: message))
        #expect(!publicKey.isValid(signature, for: message + [0]))
    }
}
