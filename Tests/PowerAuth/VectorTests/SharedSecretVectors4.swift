import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@Suite(.vectors4("shared-secret"))
struct SharedSecretVectors4 {
    struct Input: Decodable {
        let algorithm: AlgorithmSuite
        let client: AgreementKeys
        let serverEphemeralPrivateKey: Bytes
        let request: JSONValue
        let response: JSONValue
    }

    struct Output: Decodable {
        let kemSecrets: [Bytes]
        let sharedSecret: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "shared-secret", postQuantum: false))
    func bothSidesAgree(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Vector<Input, Output>.all(in: "shared-secret", postQuantum: true))
    func bothSidesAgreeInHybridSuites(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    private func check(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let suite = input.algorithm
        let agreement = try input.client.agreement(suite)
        let request = agreement.request
        #expect(try json(encodeJSON(request)) == input.request)
        #expect(try decodeJSON(Version4.SharedSecretRequest.self, input.request) == request)
        let response = try decodeJSON(Version4.SharedSecretResponse.self, input.response)
        #expect(try json(encodeJSON(response)) == input.response)
        #expect(try agreement.secret(from: response) == output.sharedSecret.secret)
        let combined = try Version4.SharedSecret.combine(
            output.kemSecrets.map(\.secret),
            suite: suite,
            salt: response.salt
        )
        #expect(combined == output.sharedSecret.secret)

        let ephemeralKey = try input.serverEphemeralPrivateKey.p384PrivateKey
        let made = try request.agree(ephemeralKey: ephemeralKey, salt: response.salt)
        #expect(made.response.encapsulatedKeys.first == response.encapsulatedKeys.first)
        if suite == .p384 { #expect(made.secret == output.sharedSecret.secret) }
        #expect(try input.client.agreement(suite).secret(from: made.response) == made.secret)
    }
}

@Suite(.vectors4("shared-secret-invalid"))
struct SharedSecretInvalidVectors4 {
    struct Input: Decodable {
        let side: String
        let algorithm: AlgorithmSuite?
        let client: AgreementKeys?
        let request: JSONValue?
        let response: JSONValue?
    }

    struct Output: Decodable {
        let sharedSecret: Bytes?
        let accepted: Bool?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "shared-secret-invalid", postQuantum: false))
    func whatIsWrongIsRefused(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    @Test(.postQuantum, arguments: try Vector<Input, Output>.all(in: "shared-secret-invalid", postQuantum: true))
    func whatIsWrongIsRefusedInHybridSuites(_ vector: Vector<Input, Output>) throws { try self.check(vector) }

    private func check(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        if input.side == "server" {
            let agree = {
                let request = try decodeJSON(Version4.SharedSecretRequest.self, input.request)
                return try request.agree(ephemeralKey: .generate(), salt: SecureRandom.bytes(32))
            }
            #expect(output.accepted == false)
            let error = #expect(throws: (any Error).self) { _ = try agree() }
            self.expectNotForLackOfAlgorithms(error)
            return
        }
        let suite = try #require(input.algorithm)
        let client = try #require(input.client)
        let agree = {
            let response = try decodeJSON(Version4.SharedSecretResponse.self, input.response)
            return try client.agreement(suite).secret(from: response)
        }
        guard let secret = output.sharedSecret else {
            self.expectNotForLackOfAlgorithms(#expect(throws: (any Error).self) { _ = try agree() })
            return
        }
        #expect(try agree() == secret.secret)
    }

    private func expectNotForLackOfAlgorithms(_ error: (any Error)?) {
        if case .unavailable? = error as? Version4.SharedSecretError { Issue.record("refused for another reason") }
        if case .crypto(let error)? = error as? Version4.SharedSecretError { Issue.record("no name: \(error)") }
    }
}
