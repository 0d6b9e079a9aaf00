import ExactJSON
import PowerAuthProtocol
import Testing

@Suite(.vectors4("fingerprint"))
struct FingerprintVectors4 {
    struct Input: Decodable {
        let algorithm: AlgorithmSuite
        let devicePublicKeys: JSONValue
        let serverPublicKeys: JSONValue
        let activationId: String
    }

    struct Output: Decodable { let fingerprint: String }

    @Test(arguments: try Vector<Input, Output>.all(in: "fingerprint", postQuantum: false))
    func eightDigits(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Vector<Input, Output>.all(in: "fingerprint", postQuantum: true))
    func eightDigitsInHybridSuites(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    private func check(_ vector: Vector<Input, Output>) throws {
        let input = vector.input
        let keys = { (value: JSONValue) in
            let message = try decodeJSON(Version4.SigningKeysMessage.self, value)
            #expect(try json(encodeJSON(message)) == value)
            return try message.keys(of: input.algorithm)
        }
        let fingerprint = Version4.ActivationFingerprint(
            devicePublicKeys: try keys(input.devicePublicKeys),
            activationID: input.activationId,
            serverPublicKeys: try keys(input.serverPublicKeys)
        )
        #expect(fingerprint.digits == vector.output.fingerprint)
    }
}
