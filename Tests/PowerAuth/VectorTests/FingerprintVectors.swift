import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.enabled(if: VectorFile.exists("public-key-fingerprint")))
struct FingerprintVectors {
    struct Input: Decodable {
        let devicePublicKeyCompressed: Bytes
        let devicePublicKeyUncompressed: Bytes
        let activationId: String
        let serverPublicKeyCompressed: Bytes
        let serverPublicKeyUncompressed: Bytes
    }

    struct Output: Decodable {
        let fingerprint: String
        let fingerprintData: Bytes
        let sha256: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "public-key-fingerprint"))
    func fingerprint(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let forms = [
            (input.devicePublicKeyCompressed, input.serverPublicKeyUncompressed),
            (input.devicePublicKeyUncompressed, input.serverPublicKeyCompressed),
        ]
        for (device, server) in forms {
            let fingerprint = ActivationFingerprint(
                devicePublicKey: try device.publicKey,
                activationID: input.activationId,
                serverPublicKey: try server.publicKey
            )
            #expect(fingerprint.data == vector.output.fingerprintData.bytes)
            #expect(SHA256.hash(fingerprint.data) == vector.output.sha256.bytes)
            #expect(fingerprint.digits == vector.output.fingerprint)
        }
    }
}
