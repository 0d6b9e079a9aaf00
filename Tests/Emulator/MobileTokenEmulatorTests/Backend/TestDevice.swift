import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The client half of the protocol, computed from its values alone.
struct TestDevice {
    let application: ApplicationDescription
    let version: ProtocolVersion
    let applicationSecret: ApplicationSecret
    var activationID = ""
    var keys: ActivationKeys?
    var serverKey: P256PublicKey?
    var counter = HashCounter(data: SecretBytes(copying: [UInt8](repeating: 0, count: 16)))
    var tokenID = ""
    var tokenSecret = SecretBytes(copying: [UInt8]())
    var recovery: JSONValue?
    var customAttributes: JSONValue?
    /// Takes the place of the knowledge key, to sign with a wrong password.
    var wrongKnowledge: SecretBytes?
    private var temporaryKeys: [Bool: (id: String, key: P256PublicKey)] = [:]

    init(application: ApplicationDescription, version: ProtocolVersion) {
        self.application = application
        self.version = version
        self.applicationSecret =
            ApplicationSecret(base64: application.secret) ?? ApplicationSecret(bytes: SecureRandom.secret(16))!
    }

    var masterKey: P256PublicKey {
        get throws { try P256PublicKey(x963: Base64.decode(self.application.masterServerPublicKey) ?? []) }
    }

    // MARK: - Encryption

    /// Fetches a temporary key, or gives the one that is kept.
    mutating func temporaryKey(
        activationScope: Bool,
        in fixture: inout BackendFixture
    ) throws -> (id: String, key: P256PublicKey) {
        if let known = self.temporaryKeys[activationScope] { return known }
        let request = TemporaryKeyRequest(
            applicationKey: self.application.key,
            activationID: activationScope ? self.activationID : nil,
            challenge: SecureRandom.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(
            applicationSecret: self.applicationSecret,
            transportKey: activationScope ? self.keys?.transport : nil
        )
        let reply = fixture.send("/pa/v3/keystore/create", json: ["requestObject": ["jwt": .string(jwt)]])
        let answer = try TemporaryKeyResponse(
            jwt: #require(reply.object["jwt"]?.string, "\(reply.outcome)"),
            signedBy: activationScope ? #require(self.serverKey) : self.masterKey,
            answering: request,
            now: fixture.milliseconds
        )
        self.temporaryKeys[activationScope] = (answer.keyID, answer.key)
        return (answer.keyID, answer.key)
    }

    mutating func forgetTemporaryKeys() {
        self.temporaryKeys = [:]
    }

    mutating func encryptor(
        _ path: ECIESPurpose,
        activationScope: Bool,
        in fixture: inout BackendFixture
    ) throws -> ECIESClientExchange {
        var temporaryKeyID: String?
        let recipient: P256PublicKey
        if self.version.usesTemporaryKeys {
            let key = try self.temporaryKey(activationScope: activationScope, in: &fixture)
            (temporaryKeyID, recipient) = (key.id, key.key)
        } else {
            recipient = try activationScope ? #require(self.serverKey) : self.masterKey
        }
        let parameters = ECIESParameters(
            version: self.version,
            applicationKey: self.application.key,
            applicationSecret: self.applicationSecret,
            scope: try activationScope
                ? .activation(id: self.activationID, transportKey: #require(self.keys).transport) : .application,
            purpose: path,
            temporaryKeyID: temporaryKeyID
        )
        return ECIESClientExchange(parameters: parameters, recipient: recipient)
    }

    /// - Parameter timestamp: The fixture's time, unless it is to be wrong.
    static func encrypt(
        _ json: JSONValue,
        _ encryptor: inout ECIESClientExchange,
        timestamp: Milliseconds
    ) throws -> JSONValue {
        let request = try encryptor.encryptRequest(
            json.serialized(),
            ephemeralKey: .generate(),
            nonce: SecureRandom.bytes(16),
            timestamp: timestamp
        )
        return try JSONValue(parsing: Array(JSONEncoder().encode(request)))
    }

    static func decrypt(_ json: JSONValue, _ encryptor: inout ECIESClientExchange) throws -> JSONValue {
        let response = try JSONDecoder().decode(ECIESResponse.self, from: Data(json.serialized()))
        return try JSONValue(parsing: try encryptor.decryptResponse(response))
    }

    func encryptionHeader(activationScope: Bool) -> (name: String, value: String) {
        let header = EncryptionHeader(
            applicationKey: self.application.key,
            activationID: activationScope ? self.activationID : nil,
            version: self.version
        )
        return (EncryptionHeader.name, header.value)
    }

    // MARK: - Activation

    /// The request to activate, and the keys that it takes to read the answer.
    struct ActivationAttempt {
        let privateKey: P256PrivateKey
        var outer: ECIESClientExchange
        var inner: ECIESClientExchange
        var body: JSONValue
        var headers: [(name: String, value: String)]
    }

    mutating func activationAttempt(
        _ identity: JSONValue,
        kind: String = "CODE",
        kindMember: String = "type",
        otp: String? = nil,
        customAttributes: JSONValue? = nil,
        in fixture: inout BackendFixture
    ) throws -> ActivationAttempt {
        let privateKey = P256PrivateKey.generate()
        var inner = try self.encryptor(.activation, activationScope: false, in: &fixture)
        var outer = try self.encryptor(.genericApplication, activationScope: false, in: &fixture)
        var innerBody: JSONObject = [
            "devicePublicKey": .string(Base64.encode(privateKey.publicKey.compressed)),
            "activationName": "test device", "platform": "linux", "deviceInfo": "test",
        ]
        innerBody["activationOtp"] = otp.map { .string($0) }
        let now = fixture.milliseconds
        var outerBody = JSONObject([.init(key: kindMember, value: .string(kind))])
        outerBody["identityAttributes"] = identity
        outerBody["activationData"] = try Self.encrypt(.object(innerBody), &inner, timestamp: now)
        outerBody["customAttributes"] = customAttributes
        let body = try Self.encrypt(.object(outerBody), &outer, timestamp: now)
        return ActivationAttempt(
            privateKey: privateKey,
            outer: outer,
            inner: inner,
            body: body,
            headers: [self.encryptionHeader(activationScope: false)]
        )
    }

    @discardableResult
    mutating func finish(_ attempt: ActivationAttempt, with reply: Reply) throws -> JSONValue {
        var attempt = attempt
        try #require(reply.status == 200, "\(reply.outcome)")
        let layer = try Self.decrypt(reply.json, &attempt.outer)
        let answer = try Self.decrypt(#require(layer["activationData"]), &attempt.inner)
        let serverKey = try P256PublicKey(
            x963: #require(answer["serverPublicKey"]?.string.flatMap { Base64.decode($0) })
        )
        self.activationID = try #require(answer["activationId"]?.string)
        self.serverKey = serverKey
        self.keys = try ActivationKeys(privateKey: attempt.privateKey, publicKey: serverKey)
        let counter = try #require(answer["ctrData"]?.string.flatMap { Base64.decodeSecret($0) })
        self.counter = HashCounter(data: counter)
        self.recovery = answer["activationRecovery"]
        self.customAttributes = layer["customAttributes"]
        return layer
    }

    mutating func activate(_ identity: JSONValue, in fixture: inout BackendFixture) throws {
        let attempt = try self.activationAttempt(identity, in: &fixture)
        let reply = fixture.send("/pa/v3/activation/create", headers: attempt.headers, json: attempt.body)
        try self.finish(attempt, with: reply)
    }

    func status(in fixture: inout BackendFixture) throws -> ActivationStatusBlob {
        let challenge = SecureRandom.bytes(16)
        let object: JSONValue = [
            "activationId": .string(self.activationID), "challenge": .string(Base64.encode(challenge)),
        ]
        let answer = fixture.send("/pa/v3/activation/status", json: ["requestObject": object]).object
        return try ActivationStatusBlob(
            decrypting: #require(answer["encryptedStatusBlob"]?.string.flatMap { Base64.decode($0) }),
            transportKey: #require(self.keys).transport,
            challenge: challenge,
            nonce: #require(answer["nonce"]?.string.flatMap { Base64.decode($0) })
        )
    }

    // MARK: - Signatures

    mutating func header(_ type: SignatureType, _ data: SignatureData, nonce: [UInt8]) throws
        -> (name: String, value: String)
    {
        let keys = try #require(self.keys)
        let factorKeys = type.factors.map { factor in
            factor == .knowledge ? self.wrongKnowledge ?? keys.knowledge : keys.key(of: factor)
        }
        let signature = RequestSignature(
            data,
            keys: factorKeys,
            counter: self.counter,
            secret: .online(self.applicationSecret)
        )
        self.counter = self.counter.next()
        let header = SignatureHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: type,
            signature: signature.onlineBytes,
            version: self.version
        )
        return (SignatureHeader.name, header.value)
    }

    /// A request that is encrypted first and then signed.
    mutating func sendEncrypted(
        _ purpose: ECIESPurpose,
        _ type: SignatureType = .possessionKnowledge,
        _ json: JSONValue = [:],
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        let uriID = purpose.rawValue
        let path = uriID.replacing("/pa/", with: "/pa/v3/")
        return try self.encryptThenSign(path, uriID: uriID, json, with: type, purpose: uriID, in: &fixture)
    }

    /// Returns the code that a person types in to approve without a network.
    mutating func offlineCode(
        operation: (id: String, data: String),
        nonce: String,
        _ type: SignatureType = .possessionKnowledge,
        proximityCode: String? = nil,
        digits: Int = 8
    ) throws -> String {
        let body = [operation.id, operation.data, proximityCode].compactMap(\.self).joined(separator: "&")
        let data = SignatureData(
            method: "POST",
            uriID: "/operation/authorize/offline",
            nonce: try #require(Base64.decode(nonce)),
            body: Array(body.utf8)
        )
        let keys = try #require(self.keys).keys(for: type)
        let signature = RequestSignature(data, keys: keys, counter: self.counter, secret: .offline)
        self.counter = self.counter.next()
        return signature.offline(componentLength: digits)
    }

    // MARK: - Tokens

    func tokenHeader(timestamp: Milliseconds) -> (name: String, value: String) {
        let header = TokenHeader(
            tokenID: self.tokenID,
            secret: self.tokenSecret,
            nonce: SecureRandom.bytes(16),
            timestamp: timestamp,
            version: self.version
        )
        return (TokenHeader.name, header.value)
    }

    func sendWithToken(
        _ path: String,
        _ json: JSONValue = [:],
        language: String? = nil,
        in fixture: inout BackendFixture
    ) -> Reply {
        var headers = [self.tokenHeader(timestamp: fixture.milliseconds)]
        if let language { headers.append(("Accept-Language", language)) }
        return fixture.send(path, headers: headers, json: json)
    }

    func operations(language: String? = nil, in fixture: inout BackendFixture) -> [JSONValue] {
        let reply = self.sendWithToken("/api/auth/token/app/operation/list", language: language, in: &fixture)
        return reply.object.array ?? []
    }
}

extension TestDevice: ClientDevice {
    var isVersion4: Bool { false }

    var isMistyping: Bool {
        get { self.wrongKnowledge != nil }
        set { self.wrongKnowledge = newValue ? SecretBytes(copying: [UInt8](repeating: 7, count: 16)) : nil }
    }

    mutating func sendActivation(
        _ code: String,
        otp: String?,
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        let attempt = try self.activationAttempt(
            ["code": .string(code)],
            otp: otp,
            customAttributes: ["color": "blue"],
            in: &fixture
        )
        let reply = fixture.send("/pa/v3/activation/create", headers: attempt.headers, json: attempt.body)
        return (reply, reply.status == 200 ? try self.finish(attempt, with: reply) : nil)
    }

    mutating func seal(
        _ content: JSONValue,
        for purpose: String,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest {
        let purpose = try #require(ECIESPurpose(rawValue: purpose))
        let isOfActivation = purpose != .genericApplication && purpose != .activation
        var encryptor = try self.encryptor(purpose, activationScope: isOfActivation, in: &fixture)
        let body = try Self.encrypt(content, &encryptor, timestamp: fixture.milliseconds)
        let header = self.encryptionHeader(activationScope: isOfActivation)
        return try SealedRequest(header: header, body: body) { [encryptor] reply in
            var encryptor = encryptor
            return try Self.decrypt(reply.json, &encryptor)
        }
    }

    func temporaryKeyRequest(
        _ activationID: String?,
        applicationKey: String?,
        signedWith signer: RequestSigner
    ) throws -> String {
        let request = TemporaryKeyRequest(
            applicationKey: applicationKey ?? self.application.key,
            activationID: activationID,
            challenge: SecureRandom.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let secret =
            signer == .nobody ? ApplicationSecret(bytes: SecureRandom.secret(16)) : self.applicationSecret
        let key = signer == .activation ? self.keys?.transport : nil
        return request.jwt(applicationSecret: try #require(secret), transportKey: key)
    }

    mutating func loseRequests(_ count: Int) { self.counter = self.counter.advanced(by: count) }
}
