import EmulatorBackend
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

struct SigningFactors: Decodable {
    let signatureType: String
    let possessionKey: Bytes
    let knowledgeKey: Bytes
    let biometryKey: Bytes

    func type() throws -> SignatureType { try #require(SignatureType(rawValue: self.signatureType)) }

    func keys() throws -> [SecretBytes] {
        try self.type().factors.map { factor in
            switch factor {
            case .possession: self.possessionKey.secret
            case .knowledge: self.knowledgeKey.secret
            case .biometry: self.biometryKey.secret
            }
        }
    }
}

@Suite(.enabled(if: VectorFile.exists("signature-online")))
struct SignatureVectors {
    typealias Input = Joined<SigningFactors, Request>

    struct Request: Decodable {
        let protocolVersion: String
        let method: String
        let uriId: String
        let nonce: Bytes
        let body: Bytes?
        let queryString: String?
        let applicationKey: String
        let applicationSecret: String
        let activationId: String
        let ctrData: Bytes
    }

    struct Output: Decodable {
        let normalizedData: String
        let signature: String
        let headerName: String
        let header: String
        let canonicalQuery: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "signature-online"))
    func theClientSignsAndTheServerVerifies(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let secret = SigningSecret.online(try #require(ApplicationSecret(base64: input.applicationSecret)))
        let data =
            if let body = input.body {
                SignatureData(method: input.method, uriID: input.uriId, nonce: input.nonce.bytes, body: body.bytes)
            } else {
                try SignatureData(
                    method: input.method,
                    uriID: input.uriId,
                    nonce: input.nonce.bytes,
                    query: input.queryString
                )
            }
        #expect(String(decoding: data.normalized, as: UTF8.self) == output.normalizedData)
        if input.body == nil {
            #expect(try CanonicalQuery.string(of: input.queryString) == output.canonicalQuery ?? "")
        }
        let keys = try input.common.keys()
        let counter = HashCounter(data: input.ctrData.secret)
        let signature = RequestSignature(data, keys: keys, counter: counter, secret: secret)

        // Version 3.0 is not spoken. Its signatures are the decimal form of the same components, so they check the
        // arithmetic all the same; a header that names it is refused.
        guard let version = ProtocolVersion(rawValue: input.protocolVersion) else {
            #expect(input.protocolVersion == "3.0")
            #expect(signature.offline() == output.signature)
            #expect(throws: HeaderError.self) { try SignatureHeader(parsing: output.header) }
            return
        }
        #expect(signature.online == output.signature)
        let header = SignatureHeader(
            activationID: input.activationId,
            applicationKey: input.applicationKey,
            nonce: input.nonce.bytes,
            type: try input.common.type(),
            signature: signature.onlineBytes,
            version: version
        )
        #expect(SignatureHeader.name == output.headerName)
        #expect(header.value == output.header)

        let received = try SignatureHeader(parsing: output.header)
        #expect(received == header)
        let match = SignatureVerifier(data, keys: keys, secret: secret).match(
            online: received.signature,
            counter: counter
        )
        #expect(match == SignatureVerifier.Match(offset: 0, nextCounter: counter.next()))
    }
}
