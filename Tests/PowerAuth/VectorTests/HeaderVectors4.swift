import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("token-and-headers"))
struct HeaderVectors4 {
    struct Input: Decodable {
        let tokenId: String?
        let tokenSecret: Bytes?
        let nonce: Bytes?
        let timestamp: Int64?
        let applicationKey: String?
        let activationId: String?
    }

    struct Output: Decodable {
        let digest: Bytes?
        let header: String?
        let encryptionHeader: String?
        let encryptionHeaderApplication: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "token-and-headers", of: .version4))
    func headers(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard let text = output.header else { return try self.encryptionHeaders(vector) }
        let secret = try #require(input.tokenSecret).secret
        let header = try TokenHeader(
            version4TokenID: try #require(input.tokenId),
            secret: secret,
            nonce: try #require(input.nonce).bytes,
            timestamp: try #require(input.timestamp)
        )
        #expect(header.digest == output.digest?.bytes)
        #expect(header.value == text)
        let parsed = try TokenHeader(parsing: text, inVersion4: true)
        #expect(parsed == header)
        #expect(parsed.isValid(secret: secret))
        #expect(!parsed.isValid(secret: SecretBytes(copying: [UInt8](repeating: 1, count: 32))))
        #expect(throws: HeaderError("version", .invalid)) { try TokenHeader(parsing: text) }
    }

    private func encryptionHeaders(_ vector: Vector<Input, Output>) throws {
        let key = try #require(vector.input.applicationKey)
        let texts: [(EnvelopeScope, String?, String?)] = [
            (.activation, vector.input.activationId, vector.output.encryptionHeader),
            (.application, nil, vector.output.encryptionHeaderApplication),
        ]
        for (scope, activationID, text) in texts {
            let header = Version4.EncryptionHeader(applicationKey: key, activationID: activationID)
            #expect(header.value == text)
            #expect(try Version4.EncryptionHeader(parsing: text, scope: scope) == header)
            let otherScope: EnvelopeScope = scope == .activation ? .application : .activation
            #expect(throws: HeaderError.self) { try Version4.EncryptionHeader(parsing: text, scope: otherScope) }
        }
    }
}
