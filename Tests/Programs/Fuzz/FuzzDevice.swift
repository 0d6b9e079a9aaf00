import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenEmulator
import PowerAuthCrypto

/// The client half of the protocol in version 3.1, which needs no temporary keys, computed from its values alone.
struct FuzzDevice {
    struct Endpoint {
        let path: String
        let type: SignatureType
        let purpose: ECIESPurpose?

        /// The resource that a code covers.
        var uriID: String { self.path.replacing("/pa/v3/", with: "/pa/").replacing("/api/auth/token/app", with: "") }
    }

    enum Failure: Error { case refused(String), notThere(String) }

    static let signedEndpoints = [
        ("/api/auth/token/app/operation/authorize", .possessionKnowledge, nil),
        ("/api/auth/token/app/operation/cancel", .possession, nil),
        ("/api/auth/token/app/operation/history", .possessionKnowledge, nil),
        ("/pa/v3/activation/remove", .possessionKnowledge, nil),
        ("/pa/v3/signature/validate", .possessionKnowledge, nil), ("/pa/v3/token/remove", .possession, nil),
        ("/pa/v3/vault/unlock", .possessionKnowledge, .vaultUnlock),
        ("/pa/v3/token/create", .possession, .tokenCreate),
        ("/pa/v3/recovery/confirm", .possessionKnowledge, .recoveryConfirm),
    ].map { (path: String, type: SignatureType, purpose: ECIESPurpose?) in
        Endpoint(path: path, type: type, purpose: purpose)
    }

    static let tokenPaths = [
        "/api/auth/token/app/operation/list", "/api/auth/token/app/operation/detail",
        "/api/auth/token/app/operation/detail/claim", "/api/push/device/register/token", "/api/push/device/register",
        "/api/inbox/count", "/api/inbox/message/list", "/api/inbox/message/detail", "/api/inbox/message/read",
        "/api/inbox/message/read-all",
    ]

    private let application: ApplicationDescription
    private let secret: ApplicationSecret
    private let masterKey: P256PublicKey
    private let privateKey = Fixed.key
    private var activationID = ""
    private var keys: ActivationKeys?
    private var serverKey: P256PublicKey?
    private var counter = HashCounter(data: Fixed.secret)
    private var token = (id: "", secret: Fixed.secret)
    private var encryptors: (outer: ECIESClientExchange, inner: ECIESClientExchange)?

    init(_ application: ApplicationDescription) {
        guard let secret = ApplicationSecret(base64: application.secret),
            let point = Base64.decode(application.masterServerPublicKey),
            let masterKey = try? P256PublicKey(x963: point)
        else { fatalError("the server's application is none") }
        self.application = application
        self.secret = secret
        self.masterKey = masterKey
    }

    // MARK: Activation

    /// Activates with the registration that waits, commits, and fetches a token.
    mutating func activate(on backend: inout Backend) throws {
        let made = backend.cloud("POST", "/v2/registrations", ["userId": "alice"]).json
        guard let code = made["activationCode"]?.string, let id = made["registrationId"]?.string else {
            throw Failure.notThere("registration")
        }
        let outer: JSONValue = ["type": "CODE", "identityAttributes": ["code": .string(code)]]
        let inner: JSONValue = ["devicePublicKey": .string(Base64.encode(self.privateKey.publicKey.compressed))]
        let body = try self.activationBody(outer: outer.serialized(), inner: inner.serialized())
        let reply = self.sendEncrypted("/pa/v3/activation/create", body, to: &backend)
        try self.finish(reply)
        guard backend.cloud("POST", "/v2/registrations/\(id)/commit", [:]).status == 200 else {
            throw Failure.refused("commit")
        }
        try self.createToken(on: &backend)
    }

    /// Two envelopes inside one another; of the outer object, `activationData` is replaced.
    mutating func activationBody(outer: [UInt8], inner: [UInt8]) throws -> [UInt8] {
        var outerEncryptor = self.encryptor(.genericApplication, for: self.masterKey, .application)
        var innerEncryptor = self.encryptor(.activation, for: self.masterKey, .application)
        var layer = outer
        if var object = (try? JSONValue(parsing: outer))?.object {
            object["activationData"] = try JSONValue(parsing: Self.seal(inner, &innerEncryptor))
            layer = JSONValue.object(object).serialized()
        }
        let body = try Self.seal(layer, &outerEncryptor)
        self.encryptors = (outerEncryptor, innerEncryptor)
        return body
    }

    private mutating func finish(_ reply: Reply) throws {
        guard var (outer, inner) = self.encryptors, reply.status == 200 else {
            throw Failure.refused(reply.code ?? "\(reply.status)")
        }
        let layer = try JSONValue(parsing: Self.open(reply.body, &outer))
        guard let data = layer["activationData"] else { throw Failure.notThere("activationData") }
        let answer = try JSONValue(parsing: Self.open(data.serialized(), &inner))
        guard let point = answer["serverPublicKey"]?.string.flatMap({ Base64.decode($0) }),
            let id = answer["activationId"]?.string,
            let counter = answer["ctrData"]?.string.flatMap({ Base64.decodeSecret($0) })
        else { throw Failure.notThere("keys") }
        let serverKey = try P256PublicKey(x963: point)
        self.activationID = id
        self.serverKey = serverKey
        self.keys = try ActivationKeys(privateKey: self.privateKey, publicKey: serverKey)
        self.counter = HashCounter(data: counter)
    }

    private mutating func createToken(on backend: inout Backend) throws {
        let endpoint = Endpoint(path: "/pa/v3/token/create", type: .possession, purpose: .tokenCreate)
        var encryptor = try self.activationEncryptor(.tokenCreate)
        let reply = try self.sendSigned(endpoint, try Self.seal(Array("{}".utf8), &encryptor), to: &backend)
        guard reply.status == 200 else { throw Failure.refused(reply.code ?? "\(reply.status)") }
        let answer = try JSONValue(parsing: Self.open(reply.body, &encryptor))
        guard let id = answer["tokenId"]?.string,
            let secret = answer["tokenSecret"]?.string.flatMap({ Base64.decodeSecret($0) })
        else { throw Failure.notThere("token") }
        self.token = (id, secret)
    }

    // MARK: Requests

    /// Encrypts the body where the endpoint asks for it, and signs.
    mutating func send(_ endpoint: Endpoint, body: [UInt8], to backend: inout Backend) throws -> Reply {
        guard let purpose = endpoint.purpose else { return try self.sendSigned(endpoint, body, to: &backend) }
        var encryptor = try self.activationEncryptor(purpose)
        return try self.sendSigned(endpoint, try Self.seal(body, &encryptor), to: &backend)
    }

    private mutating func sendSigned(_ endpoint: Endpoint, _ body: [UInt8], to backend: inout Backend) throws -> Reply {
        guard let keys = self.keys else { throw Failure.notThere("keys") }
        let nonce = [UInt8](repeating: self.counter.byte, count: 16)
        let data = SignatureData(method: "POST", uriID: endpoint.uriID, nonce: nonce, body: body)
        let factorKeys = keys.keys(for: endpoint.type)
        let signature = RequestSignature(data, keys: factorKeys, counter: self.counter, secret: .online(self.secret))
        self.counter = self.counter.next()
        let header = SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: endpoint.type,
            signature: signature.onlineBytes,
            version: .v3_1
        )
        return self.send(endpoint.path, [(SignatureHeader.name, header.value)], body, to: &backend)
    }

    func sendWithToken(_ path: String, body: [UInt8], to backend: inout Backend) -> Reply {
        let header = TokenHeader(
            tokenID: self.token.id,
            secret: self.token.secret,
            nonce: Fixed.nonce,
            timestamp: FuzzServer.now.milliseconds,
            version: .v3_1
        )
        return self.send(path, [(TokenHeader.name, header.value)], body, to: &backend)
    }

    func sendEncrypted(_ path: String, _ body: [UInt8], to backend: inout Backend) -> Reply {
        let header = EncryptionHeader(applicationKey: self.application.key, activationID: nil, version: .v3_1)
        return self.send(path, [(EncryptionHeader.name, header.value)], body, to: &backend)
    }

    /// Sends a body in an envelope for the application, and returns the reply with what stands in its envelope.
    func sendForApplication(
        _ path: String,
        _ plaintext: [UInt8],
        to backend: inout Backend
    ) throws -> (reply: Reply, content: [UInt8]) {
        var encryptor = self.encryptor(.genericApplication, for: self.masterKey, .application)
        let reply = self.sendEncrypted(path, try Self.seal(plaintext, &encryptor), to: &backend)
        return (reply, reply.status == 200 ? try Self.open(reply.body, &encryptor) : [])
    }

    private func send(
        _ path: String,
        _ headers: [(name: String, value: String)],
        _ body: [UInt8],
        to backend: inout Backend
    ) -> Reply {
        var request = ReceivedRequest(method: "POST", path: path)
        request.headers = headers + [("Content-Type", "application/json")]
        request.body = body
        return backend.reply(to: request, at: FuzzServer.now)
    }

    // MARK: Encryption

    private func activationEncryptor(_ path: ECIESPurpose) throws -> ECIESClientExchange {
        guard let keys = self.keys, let serverKey = self.serverKey else { throw Failure.notThere("keys") }
        return self.encryptor(path, for: serverKey, .activation(id: self.activationID, transportKey: keys.transport))
    }

    private func encryptor(_ path: ECIESPurpose, for recipient: P256PublicKey, _ scope: ECIESScope)
        -> ECIESClientExchange
    {
        let parameters = ECIESParameters(
            version: .v3_1,
            applicationKey: self.application.key,
            applicationSecret: self.secret,
            scope: scope,
            purpose: path,
            temporaryKeyID: nil
        )
        return ECIESClientExchange(parameters: parameters, recipient: recipient)
    }

    private static func seal(_ plaintext: [UInt8], _ encryptor: inout ECIESClientExchange) throws -> [UInt8] {
        let (nonce, now) = (SecureRandom.bytes(16), FuzzServer.now.milliseconds)
        let request = try encryptor.encryptRequest(plaintext, ephemeralKey: .generate(), nonce: nonce, timestamp: now)
        return Array(try JSONEncoder().encode(request))
    }

    private static func open(_ body: [UInt8], _ encryptor: inout ECIESClientExchange) throws -> [UInt8] {
        try encryptor.decryptResponse(JSONDecoder().decode(ECIESResponse.self, from: Data(body)))
    }
}
