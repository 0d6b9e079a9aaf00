import EmulatorBackend
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The input that the three files of encrypted exchanges have in common.
struct ECIESSetup: Decodable {
    let protocolVersion: String
    let scope: String
    let sharedInfo1Path: String
    let applicationKey: String
    let applicationSecret: String
    let activationId: String?
    let transportKey: Bytes?
    let temporaryKeyId: String?

    /// The parameters of the exchange, or `nil` for version 3.0, which is not spoken: its vector is always zero, so that
    /// equal requests look equal.
    func parameters() throws -> ECIESParameters? {
        guard let version = ProtocolVersion(rawValue: self.protocolVersion) else {
            #expect(self.protocolVersion == "3.0")
            return nil
        }
        let scope: ECIESScope
        switch self.scope {
        case "application": scope = .application
        default:
            let transportKey = try #require(self.transportKey)
            scope = .activation(id: try #require(self.activationId), transportKey: transportKey.secret)
        }
        return ECIESParameters(
            version: version,
            applicationKey: self.applicationKey,
            applicationSecret: try #require(ApplicationSecret(base64: self.applicationSecret)),
            scope: scope,
            purpose: try #require(ECIESPurpose(rawValue: self.sharedInfo1Path)),
            temporaryKeyID: self.temporaryKeyId
        )
    }
}

@Suite(.enabled(if: VectorFile.exists("ecies")))
struct ECIESVectors {
    typealias Input = Joined<ECIESSetup, Exchange>

    struct Exchange: Decodable {
        let recipientPrivateKey: Bytes
        let recipientPublicKeyCompressed: Bytes
        let recipientPublicKeyUncompressed: Bytes
        let ephemeralPrivateKey: Bytes
        let ephemeralPublicKey: Bytes
        let nonce: Bytes?
        let timestamp: Int64?
        let plaintext: Bytes
        let responseNonce: Bytes?
        let responseTimestamp: Int64?
        let responsePlaintext: Bytes
    }

    struct Output: Decodable {
        let encryptionHeader: String
        let sharedInfo1: Bytes
        let sharedInfo2Base: Bytes
        let associatedData: Bytes?
        let sharedSecret: Bytes
        let kdfInfo: Bytes
        let envelopeKey: Bytes
        let encKey: Bytes
        let macKey: Bytes
        let ivKey: Bytes
        let requestIv: Bytes
        let requestSharedInfo2: Bytes
        let request: WireJSON<ECIESRequest>
        let responseIv: Bytes
        let responseSharedInfo2: Bytes
        let response: WireJSON<ECIESResponse>
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecies"))
    func everyIntermediateValue(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard let parameters = try input.common.parameters() else { return }
        #expect(parameters.sharedInfo1 == output.sharedInfo1.bytes)
        #expect(parameters.sharedInfo2Base == output.sharedInfo2Base.bytes)
        if let associatedData = output.associatedData {
            #expect(parameters.associatedData == associatedData.bytes)
        }
        let shared = try input.ephemeralPrivateKey.privateKey
            .sharedSecret(with: try input.recipientPublicKeyCompressed.publicKey)
        #expect(shared == output.sharedSecret.secret)
        #expect(parameters.sharedInfo1 + input.ephemeralPublicKey.bytes == output.kdfInfo.bytes)
        let envelopeKey = try X963KDF.deriveKey(secret: shared, info: output.kdfInfo.bytes, count: 48)
        #expect(envelopeKey == output.envelopeKey.secret)
        let envelope = try ECIESEnvelope(
            sharedSecret: shared,
            sharedInfo1: parameters.sharedInfo1,
            ephemeralPublicKey: input.ephemeralPublicKey.bytes
        )
        #expect(envelope.encryptionKey == output.encKey.secret)
        #expect(envelope.authenticationKey == output.macKey.secret)
        #expect(envelope.vectorKey == output.ivKey.secret)
        let nonce = try #require(input.nonce).bytes
        let responseNonce = input.responseNonce?.bytes ?? nonce
        #expect(envelope.initializationVector(nonce: nonce) == output.requestIv.bytes)
        #expect(envelope.initializationVector(nonce: responseNonce) == output.responseIv.bytes)
        let requestInfo = parameters.sharedInfo2(
            nonce: nonce,
            timestamp: input.timestamp,
            ephemeralPublicKey: input.ephemeralPublicKey.bytes
        )
        #expect(requestInfo == output.requestSharedInfo2.bytes)
        let responseInfo = parameters.sharedInfo2(
            nonce: responseNonce,
            timestamp: input.responseTimestamp,
            ephemeralPublicKey: []
        )
        #expect(responseInfo == output.responseSharedInfo2.bytes)
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecies"))
    func bothSidesMakeAndOpenTheSameBytes(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard let parameters = try input.common.parameters() else { return }
        let recipient = try input.recipientPublicKeyUncompressed.publicKey
        var client = ECIESClientExchange(parameters: parameters, recipient: recipient)
        let request = try client.encryptRequest(
            input.plaintext.bytes,
            ephemeralKey: try input.ephemeralPrivateKey.privateKey,
            ephemeralKeyForm: input.ephemeralPublicKey.bytes.count == 33 ? .compressed : .uncompressed,
            nonce: try #require(input.nonce).bytes,
            timestamp: input.timestamp ?? 1
        )
        #expect(try request == output.request.value)
        #expect(try WireJSON(value: request).object == output.request.object)

        var server = ECIESServerExchange(parameters: parameters, privateKey: try input.recipientPrivateKey.privateKey)
        #expect(try server.decryptRequest(output.request.value) == input.plaintext.bytes)
        let response = try server.encryptResponse(
            input.responsePlaintext.bytes,
            nonce: input.responseNonce?.bytes ?? [],
            timestamp: input.responseTimestamp ?? 1
        )
        #expect(try response == output.response.value)
        #expect(try WireJSON(value: response).object == output.response.object)
        #expect(try client.decryptResponse(output.response.value) == input.responsePlaintext.bytes)
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecies"))
    func header(_ vector: Vector<Input, Output>) throws {
        let scope: EnvelopeScope = vector.input.common.activationId == nil ? .application : .activation
        guard let parameters = try vector.input.common.parameters() else {
            #expect(throws: HeaderError("version", .invalid)) {
                try EncryptionHeader(parsing: vector.output.encryptionHeader, scope: scope)
            }
            return
        }
        #expect(parameters.header.value == vector.output.encryptionHeader)
        let received = try EncryptionHeader(parsing: vector.output.encryptionHeader, scope: scope)
        #expect(received == parameters.header)
    }
}

@Suite(.enabled(if: VectorFile.exists("ecies-roundtrip")))
struct ECIESRoundTripVectors {
    typealias Input = Joined<ECIESSetup, Exchange>

    struct Exchange: Decodable {
        let recipientPrivateKey: Bytes
        let recipientPublicKeyUncompressed: Bytes
        let request: WireJSON<ECIESRequest>
        let response: WireJSON<ECIESResponse>
    }

    struct Output: Decodable {
        let plaintext: Bytes
        let envelopeKey: Bytes
        let responsePlaintext: Bytes
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecies-roundtrip"))
    func exchangesOfTheReferenceAreUnderstood(_ vector: Vector<Input, Output>) throws {
        let (input, output) = (vector.input, vector.output)
        guard let parameters = try input.common.parameters() else { return }
        let request = try input.request.value
        let privateKey = try input.recipientPrivateKey.privateKey
        #expect(privateKey.publicKey.uncompressed == input.recipientPublicKeyUncompressed.bytes)
        var server = ECIESServerExchange(parameters: parameters, privateKey: privateKey)
        #expect(try server.decryptRequest(request) == output.plaintext.bytes)

        // The client's side of the same exchange: its ephemeral key is unknown, so the response is made again by the server
        // half from the recorded nonce and time, and must be the recorded one.
        let recorded = try input.response.value
        let answer = try server.encryptResponse(
            output.responsePlaintext.bytes,
            nonce: recorded.nonce ?? [],
            timestamp: recorded.timestamp ?? 1
        )
        #expect(answer == recorded)

        let shared = try privateKey.sharedSecret(with: try P256PublicKey(x963: request.ephemeralPublicKey))
        let envelope = try ECIESEnvelope(
            sharedSecret: shared,
            sharedInfo1: parameters.sharedInfo1,
            ephemeralPublicKey: request.ephemeralPublicKey
        )
        let keys = [envelope.encryptionKey, envelope.authenticationKey, envelope.vectorKey].flatMap(\.revealed)
        #expect(keys == output.envelopeKey.bytes)
    }
}

@Suite(.enabled(if: VectorFile.exists("ecies-invalid")))
struct ECIESRefusalVectors {
    typealias Input = Joined<ECIESSetup, Exchange>

    struct Exchange: Decodable {
        let recipientPrivateKey: Bytes
        let request: WireJSON<ECIESRequest>
    }

    struct Output: Decodable {
        let decrypts: Bool
        let plaintext: Bytes?
        let error: String?
    }

    @Test(arguments: try Vector<Input, Output>.all(in: "ecies-invalid"))
    func theServerRefusesForTheSameReason(_ vector: Vector<Input, Output>) throws {
        guard let parameters = try vector.input.common.parameters() else { return }
        var server = ECIESServerExchange(
            parameters: parameters,
            privateKey: try vector.input.recipientPrivateKey.privateKey
        )
        let request = try vector.input.request.value
        guard !vector.output.decrypts else {
            #expect(try server.decryptRequest(request) == vector.output.plaintext?.bytes)
            return
        }
        let error = #expect(throws: EncryptionError.self) { try server.decryptRequest(request) }
        switch vector.output.error {
        case "EciesException: Invalid MAC": #expect(error == .authenticationFailed)
        case "EciesException: Decryption failed": #expect(error == .decryptionFailed)
        case "EncryptorException: Invalid encrypted request object.":
            guard case .malformed = error else {
                Issue.record("\(String(describing: error)) instead of malformed")
                break
            }
        default: #expect(error != nil)
        }
        #expect(throws: EncryptionError.outOfOrder) { try server.encryptResponse([], nonce: [], timestamp: 0) }
    }
}

/// A message decoded from its JSON by the code under test, beside the JSON as it stood.
struct WireJSON<Message: Codable & Equatable & Sendable>: Decodable, Sendable {
    private let message: Result<Message, any Error>
    /// The members that are there, as strings, whether they are numbers or strings; absent and null are the same.
    let object: [String: String]

    /// The message. Fails late, for the files have messages of version 3.0, which lack what ours must have.
    var value: Message {
        get throws { try self.message.get() }
    }

    init(from decoder: any Decoder) throws {
        self.message = Result { try Message(from: decoder) }
        self.object = try decoder.singleValueContainer().decode([String: Member].self).compactMapValues(\.text)
    }

    init(value: Message) throws {
        let decoded = try JSONDecoder().decode(Self.self, from: try JSONEncoder().encode(value))
        self.message = .success(value)
        self.object = decoded.object
    }

    private struct Member: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self.text = nil
            } else if let number = try? container.decode(Int64.self) {
                self.text = "number \(number)"
            } else {
                self.text = try container.decode(String.self)
            }
        }
    }
}
