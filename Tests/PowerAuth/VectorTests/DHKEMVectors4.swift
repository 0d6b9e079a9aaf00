import PowerAuthCrypto
import Testing

@Suite(.vectors4("dhkem"))
struct DHKEMVectors4 {
    struct Input: Decodable {
        let receiverPrivateKey: Bytes
        let ephemeralPrivateKey: Bytes?
        let encapsulated: Bytes?
    }

    struct Steps: Decodable {
        let dh: Bytes
        let kemSharedSecret: Bytes
        let keyScheduleContext: Bytes
        let exporterSecret: Bytes
    }

    struct Output: Decodable {
        let receiverPublicKey: Bytes?
        let encapsulated: Bytes?
        let secret: Bytes?
        let steps: Steps?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "dhkem", of: .version4))
    func bothSidesHaveTheSecret(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let receiver = try input.receiverPrivateKey.p384PrivateKey
        guard let secret = output.secret else {
            let encapsulated = try #require(input.encapsulated).bytes
            #expect(throws: CryptoError(.invalidPublicKey)) { try DHKEM384.decapsulate(encapsulated, with: receiver) }
            return
        }
        let ephemeralKey = try #require(input.ephemeralPrivateKey).p384PrivateKey
        #expect(receiver.publicKey.uncompressed == output.receiverPublicKey?.bytes)
        let made = try DHKEM384.encapsulate(to: receiver.publicKey, ephemeralKey: ephemeralKey)
        #expect(made.encapsulated == output.encapsulated?.bytes)
        #expect(made.secret == secret.secret)
        let steps = try DHKEM384.decapsulationSteps(made.encapsulated, with: receiver)
        #expect(steps.secret == secret.secret)
        let expected = try #require(output.steps)
        #expect(steps.sharedPoint == expected.dh.secret)
        #expect(steps.kemSharedSecret == expected.kemSharedSecret.secret)
        #expect(steps.keyScheduleContext == expected.keyScheduleContext.bytes)
        #expect(steps.exporterSecret == expected.exporterSecret.secret)
    }
}
