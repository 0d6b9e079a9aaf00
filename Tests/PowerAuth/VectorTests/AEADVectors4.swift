import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("aead"))
struct AEADVectors4 {
    struct Input: Decodable {
        let key: Bytes
        let keyContext: Bytes
        let nonce: Bytes
        let associatedData: Bytes
        let plaintext: Bytes
    }

    struct Output: Decodable { let sealed: Bytes }

    @Test(arguments: try Vector<Input, Output>.all(in: "aead", of: .version4))
    func sealsAndOpens(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let encryption = try Version4.AuthenticatedEncryption(key: input.key.secret, context: input.keyContext.bytes)
        let sealed = try encryption.seal(
            input.plaintext.bytes,
            nonce: input.nonce.bytes,
            associatedData: input.associatedData.bytes
        )
        #expect(sealed == vector.output.sealed.bytes)
        let opened = try encryption.open(sealed, associatedData: input.associatedData.bytes)
        #expect(opened == input.plaintext.bytes)
    }
}

@Suite(.vectors4("aead-invalid"))
struct AEADInvalidVectors4 {
    struct Input: Decodable {
        let key: Bytes
        let keyContext: Bytes
        let associatedData: Bytes
        let sealed: Bytes
    }

    struct Output: Decodable { let plaintext: Bytes? }

    @Test(arguments: try Vector<Input, Output>.all(in: "aead-invalid", of: .version4))
    func opensOnlyWhatWasSealed(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let open = {
            try Version4.AuthenticatedEncryption(key: input.key.secret, context: input.keyContext.bytes)
                .open(input.sealed.bytes, associatedData: input.associatedData.bytes)
        }
        guard let plaintext = vector.output.plaintext else {
            #expect(throws: CryptoError.self) { try open() }
            return
        }
        #expect(try open() == plaintext.bytes)
    }
}

@Suite(.vectors4("uke"))
struct KeyWrapVectors4 {
    struct Input: Decodable {
        let kek: Bytes
        let key: Bytes?
        let iv: Bytes?
        let wrapped: Bytes?
    }

    struct Output: Decodable {
        let wrapped: Bytes?
        let key: Bytes?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "uke", of: .version4))
    func wrapsAndUnwraps(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let kek = input.kek.secret
        if let key = input.key, let iv = input.iv {
            let wrapped = try Version4.KeyWrap.wrap(key.secret, under: kek, vector: iv.bytes)
            #expect(wrapped == output.wrapped?.bytes)
            #expect(try Version4.KeyWrap.unwrap(wrapped, under: kek) == key.secret)
            return
        }
        let wrapped = try #require(input.wrapped).bytes
        guard let key = output.key else {
            #expect(throws: CryptoError(.invalidLength)) { try Version4.KeyWrap.unwrap(wrapped, under: kek) }
            return
        }
        #expect(try Version4.KeyWrap.unwrap(wrapped, under: kek) == key.secret)
    }
}
