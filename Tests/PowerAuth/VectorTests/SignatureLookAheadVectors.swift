import EmulatorBackend
import Foundation
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("signature-lookahead")))
struct SignatureLookAheadVectors {
    typealias Input = Joined<SigningFactors, Attempt>

    struct Attempt: Decodable {
        let normalizedData: String
        let applicationSecret: String
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
        let keys = try input.common.keys()
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
