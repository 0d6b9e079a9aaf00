import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol

/// The client's half of version 3.3.
struct DeviceSession3: DeviceSession {
    static var version: String { ProtocolVersion.v3_3.rawValue }

    struct Application {
        let key: String
        let secret: ApplicationSecret
        let masterKey: P256PublicKey

        fileprivate init(_ description: ApplicationDescription) throws(DeviceFailure) {
            guard let secret = ApplicationSecret(base64: description.secret),
                let point = Base64.decode(description.masterServerPublicKey),
                let masterKey = try? P256PublicKey(x963: point)
            else { throw .refused(reason: "the server has no application for devices") }
            self.key = description.key
            self.secret = secret
            self.masterKey = masterKey
        }
    }

    private struct Token {
        let id: String
        let secret: SecretBytes
    }

    private let application: Application
    let activationID: String
    private let keys: ActivationKeys
    private let serverKey: P256PublicKey
    private var counter: HashCounter
    private var token: Token?

    // MARK: - Activation

    static func application(_ server: DeviceServer) throws -> Application { try Application(server.application) }

    static func temporaryKeyExchange(_ application: Application) throws -> DeviceExchange<TemporaryKey> {
        Self.temporaryKeyExchange(application, activation: nil)
    }

    static func activationExchange(_ device: NewDevice<Self>) throws -> DeviceExchange<Self> {
        let (application, temporaryKey) = (device.application, device.temporaryKey)
        let privateKey = P256PrivateKey.generate()
        var inner = Self.exchange(.activation, application, .application, temporaryKey)
        var outer = Self.exchange(.genericApplication, application, .application, temporaryKey)
        let content: JSONObject = [
            "devicePublicKey": .string(Base64.encode(privateKey.publicKey.compressed)),
            "activationName": .string(device.name), "platform": "linux", "deviceInfo": "virtual device",
        ]
        let layer: JSONObject = [
            "type": "CODE", "identityAttributes": ["code": .string(device.code)],
            "activationData": try JSONValue(parsing: Self.seal(.object(content), &inner, at: device.now)),
        ]
        let body = try Self.seal(.object(layer), &outer, at: device.now)
        let header = EncryptionHeader(applicationKey: application.key, activationID: nil, version: .v3_3)
        return DeviceExchange(
            path: "/pa/v3/activation/create",
            headers: [(EncryptionHeader.name, header.value)],
            body: body
        ) { [inner, outer] response, _ in
            let layer = try Self.open(response, outer)
            let content = try Self.open(try Self.member("activationData", of: layer).serialized(), inner)
            return try Self(content, privateKey, application)
        }
    }

    /// Takes what an activation gave.
    private init(_ content: JSONValue, _ privateKey: P256PrivateKey, _ application: Application) throws {
        self.serverKey = try P256PublicKey(x963: Self.bytes("serverPublicKey", of: content))
        self.activationID = try Self.string("activationId", of: content)
        self.keys = try ActivationKeys(privateKey: privateKey, publicKey: self.serverKey)
        self.counter = HashCounter(data: try Self.secret("ctrData", of: content))
        self.application = application
    }

    mutating func prepare(_ wire: DeviceWire) async throws(DeviceFailure) {
        guard self.token == nil else { return }
        let temporaryKey = try await wire.perform(Self.temporaryKeyExchange(self.application, activation: self))
        let scope = ECIESScope.activation(id: self.activationID, transportKey: self.keys.transport)
        var exchange = Self.exchange(.tokenCreate, self.application, scope, temporaryKey)
        let now = await wire.now
        let body = try DeviceFailure.reading { try Self.seal([:], &exchange, at: now) }
        let header = try DeviceFailure.reading {
            try self.codeHeader(.possession, uriID: "/pa/token/create", body: body, hasWrongPassword: false)
        }
        wire.keep(self)
        let response = try await wire.send("/pa/v3/token/create", headers: [header], body)
        self.token = try DeviceFailure.reading {
            let content = try Self.open(response, exchange)
            return Token(
                id: try Self.string("tokenId", of: content),
                secret: try Self.secret("tokenSecret", of: content)
            )
        }
    }

    // MARK: - Headers

    func tokenHeader(at now: Milliseconds) throws -> TokenHeader {
        let token = try Self.required(self.token)
        let nonce = SecureRandom.bytes(16)
        return TokenHeader(tokenID: token.id, secret: token.secret, nonce: nonce, timestamp: now, version: .v3_3)
    }

    mutating func codeHeader(
        _ type: SignatureType,
        uriID: String,
        body: [UInt8],
        hasWrongPassword: Bool
    ) throws -> (name: String, value: String) {
        let nonce = SecureRandom.bytes(16)
        // The key of knowledge is kept under the password: another password gives another key.
        let keys = type.factors.map { factor in
            factor == .knowledge && hasWrongPassword ? SecureRandom.secret(16) : self.keys.key(of: factor)
        }
        let signature = RequestSignature(
            SignatureData(method: "POST", uriID: uriID, nonce: nonce, body: body),
            keys: keys,
            counter: self.counter,
            secret: .online(self.application.secret)
        )
        self.counter = self.counter.next()
        let header = SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: type,
            signature: signature.onlineBytes,
            version: .v3_3
        )
        return (SignatureHeader.name, header.value)
    }

    // MARK: - Encryption

    struct TemporaryKey {
        let id: String
        let key: P256PublicKey
    }

    /// - Parameter activation: Whose key it is; `nil` for one of the application.
    private static func temporaryKeyExchange(
        _ application: Application,
        activation: Self?
    ) -> DeviceExchange<TemporaryKey> {
        let request = TemporaryKeyRequest(
            applicationKey: application.key,
            activationID: activation?.activationID,
            challenge: SecureRandom.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(applicationSecret: application.secret, transportKey: activation?.keys.transport)
        let body: JSONValue = ["requestObject": ["jwt": .string(jwt)]]
        return DeviceExchange(path: "/pa/v3/keystore/create", body: body.serialized()) { response, now in
            let answer = try TemporaryKeyResponse(
                jwt: Self.string("jwt", of: Self.member("responseObject", of: JSONValue(parsing: response))),
                signedBy: activation?.serverKey ?? application.masterKey,
                answering: request,
                now: now
            )
            return TemporaryKey(id: answer.keyID, key: answer.key)
        }
    }

    private static func exchange(
        _ purpose: ECIESPurpose,
        _ application: Application,
        _ scope: ECIESScope,
        _ temporaryKey: TemporaryKey
    ) -> ECIESClientExchange {
        let parameters = ECIESParameters(
            version: .v3_3,
            applicationKey: application.key,
            applicationSecret: application.secret,
            scope: scope,
            purpose: purpose,
            temporaryKeyID: temporaryKey.id
        )
        return ECIESClientExchange(parameters: parameters, recipient: temporaryKey.key)
    }

    private static func seal(
        _ content: JSONValue,
        _ exchange: inout ECIESClientExchange,
        at now: Milliseconds
    ) throws -> [UInt8] {
        let request = try exchange.encryptRequest(
            content.serialized(),
            ephemeralKey: .generate(),
            nonce: SecureRandom.bytes(16),
            timestamp: now
        )
        return Array(try JSONEncoder().encode(request))
    }

    private static func open(_ body: [UInt8], _ exchange: ECIESClientExchange) throws -> JSONValue {
        var exchange = exchange
        let response = try JSONDecoder().decode(ECIESResponse.self, from: Data(body))
        return try JSONValue(parsing: exchange.decryptResponse(response))
    }
}

// What a response must hold.
extension DeviceSession3 {
    private struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    private static func member(_ name: String, of value: JSONValue) throws -> JSONValue {
        guard let member = value[name] else { throw Missing(description: "\(name) is missing") }
        return member
    }

    private static func string(_ name: String, of value: JSONValue) throws -> String {
        guard let string = try Self.member(name, of: value).string else {
            throw Missing(description: "\(name) is not a string")
        }
        return string
    }

    private static func bytes(_ name: String, of value: JSONValue) throws -> [UInt8] {
        guard let bytes = Base64.decode(try Self.string(name, of: value)) else {
            throw Missing(description: "\(name) is not Base64")
        }
        return bytes
    }

    private static func secret(_ name: String, of value: JSONValue) throws -> SecretBytes {
        guard let bytes = Base64.decodeSecret(try Self.string(name, of: value)) else {
            throw Missing(description: "\(name) is not Base64")
        }
        return bytes
    }
}
