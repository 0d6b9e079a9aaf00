import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("ecdh-master-secret")))
struct ActivationKeyVectors {
    struct Input: Decodable {
        let devicePrivateKey: Bytes
        let devicePublicKeyCompressed: Bytes
        let devicePublicKeyUncompressed: Bytes
        let serverPrivateKey: Bytes
        let serverPublicKeyCompressed: Bytes
        let serverPublicKeyUncompressed: Bytes
    }

    struct Output: Decodable {
        let sharedSecret: Bytes
        let masterSecret: Bytes
        let possessionKey: Bytes
        let knowledgeKey: Bytes
        let biometryKey: Bytes
        let transportKey: Bytes
        let vaultKey: Bytes
        let transportIvKey: Bytes
        let transportCtrKey: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecdh-master-secret"))
    func bothSidesDeriveTheSameKeys(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let device = try input.devicePrivateKey.privateKey
        let server = try input.serverPrivateKey.privateKey
        let exchanges = [
            (device, try input.serverPublicKeyCompressed.publicKey),
            (device, try input.serverPublicKeyUncompressed.publicKey),
            (server, try input.devicePublicKeyCompressed.publicKey),
            (server, try input.devicePublicKeyUncompressed.publicKey),
        ]
        for (own, other) in exchanges {
            let shared = try own.sharedSecret(with: other)
            #expect(shared == output.sharedSecret.secret)
            #expect(KeyDerivation.fold(shared) == output.masterSecret.secret)
            let keys = try ActivationKeys(privateKey: own, publicKey: other)
            #expect(keys.possession == output.possessionKey.secret)
            #expect(keys.knowledge == output.knowledgeKey.secret)
            #expect(keys.biometry == output.biometryKey.secret)
            #expect(keys.transport == output.transportKey.secret)
            #expect(keys.vault == output.vaultKey.secret)
            #expect(try KeyDerivation.derive(keys.transport, index: 3000) == output.transportIvKey.secret)
            #expect(try KeyDerivation.derive(keys.transport, index: 4000) == output.transportCtrKey.secret)
        }
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecdh-master-secret"))
    func everyFormOfAKeyIsTheSameKey(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let pairs = [
            (input.devicePrivateKey, input.devicePublicKeyCompressed, input.devicePublicKeyUncompressed),
            (input.serverPrivateKey, input.serverPublicKeyCompressed, input.serverPublicKeyUncompressed),
        ]
        for (scalar, compressed, uncompressed) in pairs {
            let key = try scalar.privateKey
            #expect(key.scalar == scalar.secret)
            for point in [key.publicKey, try compressed.publicKey, try uncompressed.publicKey] {
                #expect(point.compressed == compressed.bytes)
                #expect(point.uncompressed == uncompressed.bytes)
            }
        }
    }
}
