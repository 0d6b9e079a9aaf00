import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("signature-lookahead")))
struct SignatureLookAheadVectors {
    struct Input: Decodable {
        let signatureType: String
        let normalizedData: String
        let applicationSecret: String
        let possessionKey: Bytes
        let knowledgeKey: Bytes
        let biometryKey: Bytes
        let serverCtrData: Bytes
        let lookAhead: Int
        let signature: String
    }

    struct Output: Decodable {
        let valid: Bool
        let counterOffset: Int?
        let nextServerCtrData: Bytes?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "signature-lookahead"))
    func theServerFindsTheClientsCounter(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let type = try #require(SignatureType(rawValue: input.signatureType))
        let keys = type.factors.map { factor in
            switch factor {
            case .possession: input.possessionKey.secret
            case .knowledge: input.knowledgeKey.secret
            case .biometry: input.biometryKey.secret
            }
        }
        let verifier = SignatureVerifier(
            SignatureData(normalized: Array(input.normalizedData.utf8)),
            keys: keys,
            secret: .online(try #require(ApplicationSecret(base64: input.applicationSecret)))
        )
        let match = verifier.match(
            online: [UInt8](try #require(Data(base64Encoded: input.signature))),
            counter: HashCounter(data: input.serverCtrData.secret, byte: 7),
            lookAhead: input.lookAhead
        )
        #expect((match != nil) == output.valid)
        guard output.valid, let match else { return }
        #expect(match.offset == output.counterOffset)
        #expect(match.nextCounter.data == output.nextServerCtrData?.secret)
        #expect(match.nextCounter.byte == 7 + UInt8(match.offset) + 1)
    }
}
