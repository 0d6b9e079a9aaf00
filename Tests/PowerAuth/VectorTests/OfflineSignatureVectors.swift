import EmulatorBackend
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("signature-offline")))
struct OfflineSignatureVectors {
    typealias Input = Joined<SigningFactors, Request>

    struct Request: Decodable {
        let componentLength: Int?
        let uriId: String
        let nonce: Bytes
        let data: Bytes
        let dataString: String
        let ctrData: Bytes
    }

    struct Output: Decodable {
        let normalizedData: String
        let signature: String
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "signature-offline"))
    func theClientSignsAndTheServerVerifies(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        #expect(Array(input.dataString.utf8) == input.data.bytes)
        let data = SignatureData(
            method: "POST",
            uriID: input.uriId,
            nonce: input.nonce.bytes,
            body: input.data.bytes
        )
        #expect(String(decoding: data.normalized, as: UTF8.self) == output.normalizedData)
        let keys = try input.common.keys()
        let counter = HashCounter(data: input.ctrData.secret)
        let length = input.componentLength ?? 8
        let signature = RequestSignature(data, keys: keys, counter: counter, secret: .offline)
        #expect(signature.offline(componentLength: length) == output.signature)
        let verifier = SignatureVerifier(data, keys: keys, secret: .offline)
        let match = verifier.match(offline: output.signature, counter: counter, componentLength: length)
        #expect(match == SignatureVerifier.Match(offset: 0, nextCounter: counter.next()))
    }
}
