import EmulatorBackend
import ExactJSON
import PowerAuthProtocol
import Testing

struct EncryptionInput: Decodable {
    let sharedInfo1: String
    let scope: String
    let applicationKey: String
    let applicationSecret: String
    let activationId: String?
    let temporaryKeyId: String
    let temporarySharedSecret: Bytes
    let sharedInfo2Key: Bytes?

    func parameters() throws -> Version4.EncryptionParameters {
        let scope: Version4.EncryptionParameters.Scope =
            if self.scope == "activation" {
                .activation(
                    id: try #require(self.activationId),
                    sharedInfo2Key: try #require(self.sharedInfo2Key).secret
                )
            } else { .application }
        return try Version4.EncryptionParameters(
            applicationKey: self.applicationKey,
            applicationSecret: try #require(ApplicationSecret(base64: self.applicationSecret)),
            scope: scope,
            purpose: try #require(Version4.EncryptionPurpose(rawValue: self.sharedInfo1)),
            temporaryKeyID: self.temporaryKeyId,
            temporaryKey: self.temporarySharedSecret.secret
        )
    }
}

@Suite(.vectors4("e2ee"))
struct EncryptionVectors4 {
    struct Exchange: Decodable {
        let requestPlaintext: Bytes
        let requestTimestamp: Int64
        let nonce: Bytes
        let responsePlaintext: Bytes
        let responseTimestamp: Int64
    }

    typealias Input = Joined<EncryptionInput, Exchange>

    struct Output: Decodable {
        let request: JSONValue
        let response: JSONValue
        let sharedInfo2: Bytes
        let keyContext: Bytes
        let requestAssociatedData: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "e2ee", of: .version4))
    func clientAndServer(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        let parameters = try input.common.parameters()
        let nonce = input.nonce.bytes
        #expect(parameters.sharedInfo2 == output.sharedInfo2.bytes)
        #expect(parameters.keyContext(nonce: nonce) == output.keyContext.bytes)
        let data = parameters.associatedData(timestamp: input.requestTimestamp, nonce: nonce)
        #expect(data == output.requestAssociatedData.bytes)

        var client = Version4.ClientExchange(parameters: parameters)
        let request = try client.encryptRequest(
            input.requestPlaintext.bytes,
            nonce: nonce,
            timestamp: input.requestTimestamp
        )
        #expect(try json(encodeJSON(request)) == output.request)
        #expect(try decodeJSON(Version4.EncryptedRequest.self, output.request) == request)

        var server = Version4.ServerExchange(parameters: parameters)
        #expect(try server.decryptRequest(request) == input.requestPlaintext.bytes)
        let response = try server.encryptResponse(input.responsePlaintext.bytes, timestamp: input.responseTimestamp)
        #expect(try json(encodeJSON(response)) == output.response)
        #expect(try decodeJSON(Version4.EncryptedResponse.self, output.response) == response)
        #expect(try client.decryptResponse(response) == input.responsePlaintext.bytes)
    }
}

@Suite(.vectors4("e2ee-invalid"))
struct EncryptionInvalidVectors4 {
    struct Message: Decodable {
        let direction: String
        let request: JSONValue?
        let nonce: Bytes?
        let response: JSONValue?
        let now: Int64?
    }

    typealias Input = Joined<EncryptionInput, Message>

    struct Output: Decodable { let plaintext: Bytes? }

    private struct Stale: Error {}

    @Test(arguments: try Vector<Input, Output>.all(in: "e2ee-invalid", of: .version4))
    func whatIsWrongIsRefused(_ vector: Vector<Input, Output>) throws {
        let parameters = try vector.input.common.parameters()
        let open = {
            try vector.input.direction == "request"
                ? self.request(vector, parameters) : self.response(vector, parameters)
        }
        guard let plaintext = vector.output.plaintext else {
            #expect(throws: (any Error).self) { try open() }
            return
        }
        #expect(try open() == plaintext.bytes)
    }

    private func request(
        _ vector: Vector<Input, Output>,
        _ parameters: Version4.EncryptionParameters
    ) throws -> [UInt8] {
        let request = try decodeJSON(Version4.EncryptedRequest.self, vector.input.request)
        if let now = vector.input.now, !request.isFresh(at: now) { throw Stale() }
        var server = Version4.ServerExchange(parameters: parameters)
        return try server.decryptRequest(request)
    }

    private func response(
        _ vector: Vector<Input, Output>,
        _ parameters: Version4.EncryptionParameters
    ) throws -> [UInt8] {
        var client = Version4.ClientExchange(parameters: parameters)
        _ = try client.encryptRequest([], nonce: try #require(vector.input.nonce).bytes, timestamp: 1_770_000_000_000)
        return try client.decryptResponse(decodeJSON(Version4.EncryptedResponse.self, vector.input.response))
    }
}
