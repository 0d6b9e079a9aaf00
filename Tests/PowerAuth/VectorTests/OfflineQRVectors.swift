import MobileToken
import MobileTokenOffline
import Testing

@Suite(.enabled(if: VectorFile.exists("offline-qr")))
struct OfflineQRVectors {
    struct Input: Decodable {
        let note: String?
        let qrCode: String
        let masterServerPublicKey: Bytes
        let serverPublicKey: Bytes
        let ctrData: Bytes
        let possessionKey: Bytes
        let knowledgeKey: Bytes
        let biometryKey: Bytes
        let uriId: String
    }

    struct Output: Decodable {
        let signatureValid: Bool
        let operationId: String?
        let title: String?
        let message: String?
        let operationData: String?
        let flags: String?
        let totp: String?
        let attributeCount: Int?
        let nonce: Bytes?
        let signingKeyType: String?
        let signature: Bytes?
        let signedData: String?
        let offlineSignatureData: String?
        let normalizedData: String?
        let signaturePossessionKnowledge: String?
        let signaturePossessionBiometry: String?
    }

    private func operation(_ input: Input) throws -> OfflineOperation {
        try OfflineOperation.Unverified(parsing: input.qrCode).verified(
            masterKey: try input.masterServerPublicKey.publicKey,
            serverKey: try input.serverPublicKey.publicKey
        )
    }

    /// The reference refuses the one line end that scanners add. It is left out here before anything is read.
    private static let lineEndOfAScanner = "trailing newline"

    @Test(
        arguments: try Vector<Input, Output>.all(in: "offline-qr").filter { $0.input.note == Self.lineEndOfAScanner }
    )
    func aScannersLineEndIsLeftOut(_ vector: Vector<Input, Output>) throws {
        let unverified = try OfflineOperation.Unverified(parsing: vector.input.qrCode)
        _ = try unverified.verified { _, _, message in
            #expect(vector.input.qrCode.utf8.starts(with: message))
            return true
        }
        #expect(try self.operation(vector.input).id.utf8.elementsEqual(vector.input.qrCode.utf8.prefix { $0 != 0x0A }))
    }

    @Test(
        arguments: try Vector<Input, Output>.all(in: "offline-qr").filter {
            !$0.output.signatureValid && $0.input.note != Self.lineEndOfAScanner
        }
    )
    func whatTheServerDidNotSignIsNeverShown(_ vector: Vector<Input, Output>) {
        #expect(throws: OfflineOperation.ParsingError.self) { try self.operation(vector.input) }
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "offline-qr").filter(\.output.signatureValid))
    func everyLineIsReadAndTheSignatureVerified(_ vector: Vector<Input, Output>) throws {
        let output = vector.output
        let operation = try self.operation(vector.input)
        #expect(operation.id == output.operationId)
        #expect(operation.title == output.title)
        #expect(operation.message == output.message)
        #expect(operation.operationData.text == output.operationData)
        #expect(operation.flags.text == output.flags)
        #expect(operation.totp == output.totp)
        #expect(operation.nonceBytes == output.nonce?.bytes)
        #expect(operation.signingKey == (output.signingKeyType == "1" ? .personalized : .master))
        let attributeCount = try #require(output.attributeCount)
        #expect(operation.isNewerFormat == (attributeCount > 8))
        #expect(operation.additionalLines.count == max(0, attributeCount - 8))
        #expect(operation.dataToSign == output.offlineSignatureData.map { Array($0.utf8) })

        let unverified = try OfflineOperation.Unverified(parsing: vector.input.qrCode)
        _ = try unverified.verified { _, signature, message in
            #expect(signature == output.signature?.bytes)
            #expect(message == output.signedData.map { Array($0.utf8) })
            return true
        }
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "offline-qr").filter(\.output.signatureValid))
    func itIsSignedByTheBytesReceived(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let operation = try self.operation(input)
        let data = SignatureData(
            method: "POST",
            uriID: input.uriId,
            nonce: operation.nonceBytes,
            body: operation.dataToSign
        )
        #expect(String(decoding: data.normalized, as: UTF8.self) == output.normalizedData)
        let counter = HashCounter(data: input.ctrData.secret)
        for (key, expected) in [
            (input.knowledgeKey, output.signaturePossessionKnowledge),
            (input.biometryKey, output.signaturePossessionBiometry),
        ] {
            let keys = [input.possessionKey.secret, key.secret]
            let signature = RequestSignature(data, keys: keys, counter: counter, secret: .offline)
            #expect(signature.offline(componentLength: 8) == expected)
        }
    }
}
