import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("activation-code")))
struct ActivationCodeVectors {
    struct Generation: Decodable {
        let randomBytes: Bytes
    }

    struct Generated: Decodable {
        let activationCode: String
        let crc16: UInt16
    }

    @Test(arguments: try Vector<Generation, Generated>.all(in: "activation-code", operation: "generate"))
    func generation(_ vector: Vector<Generation, Generated>) throws {
        let code = try ActivationCode(randomBytes: vector.input.randomBytes.bytes)
        #expect(code.code == vector.output.activationCode)
        #expect(code.qrCodeContent == vector.output.activationCode)
        let checksum = vector.input.randomBytes.bytes.reduce(0) { CRC16.updated($0, with: $1) }
        #expect(checksum == vector.output.crc16)
        #expect(try ActivationCode(parsing: vector.output.activationCode) == code)
    }

    struct Validation: Decodable {
        let activationCode: String
    }

    struct Validity: Decodable {
        let valid: Bool
    }

    @Test(arguments: try Vector<Validation, Validity>.all(in: "activation-code", operation: "validate"))
    func validation(_ vector: Vector<Validation, Validity>) throws {
        let text = vector.input.activationCode
        // The last character holds one bit of the checksum and four spare ones. The reference ignores what they are, so that
        // 16 strings pass for one code. Only the one that a server would have written can be known to it, and a person's
        // typing mistake in the last character should be noticed at once: spare bits must be zero.
        let hasSpareBits = text.last.map { !"AQ".contains($0) } ?? false
        let isValid = vector.output.valid && !hasSpareBits
        #expect(ActivationCode.isValid(text) == isValid)
        if isValid {
            #expect(try ActivationCode(parsing: text).code == text)
        } else {
            #expect(throws: ActivationCode.ParsingError.invalidCode) { try ActivationCode(parsing: text) }
        }
    }

    struct Signed: Decodable {
        let activationCode: String
        let masterPrivateKey: Bytes
        let masterPublicKeyCompressed: Bytes
        let masterPublicKeyUncompressed: Bytes
        let signature: Bytes
        let qrContent: String
    }

    @Test(arguments: try Vector<Signed, Validity>.all(in: "activation-code", operation: "verifySignature"))
    func signature(_ vector: Vector<Signed, Validity>) throws {
        let input = vector.input
        let masterKey = try input.masterPublicKeyCompressed.publicKey
        #expect(masterKey == (try input.masterPublicKeyUncompressed.publicKey))
        let isValid = masterKey.isValid(derSignature: input.signature.bytes, for: Array(input.activationCode.utf8))
        #expect(isValid == vector.output.valid)
        guard ActivationCode.isValid(input.activationCode) else {
            #expect(throws: ActivationCode.ParsingError.invalidCode) { try ActivationCode(parsing: input.qrContent) }
            return
        }
        let code = try ActivationCode(parsing: input.qrContent)
        #expect(code.code == input.activationCode)
        #expect(code.signature == input.signature.bytes)
        #expect(code.qrCodeContent == input.qrContent)
        #expect(code.isSigned(by: masterKey) == vector.output.valid)
    }
}
