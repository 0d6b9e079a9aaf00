import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The client half of version 3.
struct TestDevice: ClientDevice {
    let application: ApplicationDescription
    let version: ProtocolVersion
    var activationID = ""
    var keys: ActivationKeys?
    var serverKey: P256PublicKey?
    var counter = HashCounter(data: SecretBytes(copying: [UInt8](repeating: 0, count: 16)))
    var tokenID = ""
    var tokenSecret = SecretBytes(copying: [UInt8]())
    var recovery: JSONValue?
    var wrongKnowledge: SecretBytes?
    private var temporaryKeys: [EnvelopeScope: (id: String, key: P256PublicKey)] = [:]

    init(application: ApplicationDescription, version: ProtocolVersion) {
        (self.application, self.version) = (application, version)
    }

    var isVersion4: Bool { false }

    var masterKey: P256PublicKey {
        get throws { try P256PublicKey(x963: Base64.decode(self.application.masterServerPublicKey) ?? []) }
    }

    private var secret: ApplicationSecret {
        get throws { try #require(ApplicationSecret(base64: self.application.secret)) }
    }

    // MARK: - Encryption

    private func recipient(_ scope: EnvelopeScope) throws -> P256PublicKey {
        try scope == .activation ? #require(self.serverKey) : self.masterKey
    }

    private func jwt(_ request: TemporaryKeyRequest, signedWith signer: RequestSigner) throws -> String {
        let secret = signer == .nobody ? ApplicationSecret(bytes: SecureRandom.secret(16)) : try self.secret
        let key = signer == .activation ? self.keys?.transport : nil
        return request.jwt(applicationSecret: try #require(secret), transportKey: key)
    }

    private func request(_ activationID: String?, _ applicationKey: String? = nil) -> TemporaryKeyRequest {
        let challenge = SecureRandom.bytes(TemporaryKeyRequest.challengeByteCount)
        let key = applicationKey ?? self.application.key
        return TemporaryKeyRequest(applicationKey: key, activationID: activationID, challenge: challenge)
    }

    func temporaryKeyRequest(_ activationID: String?, applicationKey: String?, signedWith signer: RequestSigner) throws
        -> String
    {
        try self.jwt(self.request(activationID, applicationKey), signedWith: signer)
    }

    /// Fetches a temporary key, or gives the one that is kept.
    mutating func temporaryKey(_ scope: EnvelopeScope, in fixture: inout BackendFixture) throws
        -> (id: String, key: P256PublicKey)
    {
        if let known = self.temporaryKeys[scope] { return known }
        let request = self.request(scope == .activation ? self.activationID : nil)
        let jwt = try self.jwt(request, signedWith: scope == .activation ? .activation : .application)
        let reply = fixture.send("/pa/v3/keystore/create", json: ["requestObject": ["jwt": .string(jwt)]])
        let answer = try TemporaryKeyResponse(
            jwt: #require(reply.object["jwt"]?.string, "\(reply.outcome)"),
            signedBy: self.recipient(scope),
            answering: request,
            now: fixture.milliseconds
        )
        self.temporaryKeys[scope] = (answer.keyID, answer.key)
        return (answer.keyID, answer.key)
    }

    mutating func forgetTemporaryKeys() { self.temporaryKeys = [:] }

    mutating func envelope(
        _ purpose: ECIESPurpose,
        _ content: JSONValue,
        timestamp: Milliseconds?,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest {
        let scope: EnvelopeScope = [.genericApplication, .activation].contains(purpose) ? .application : .activation
        let key = self.version.usesTemporaryKeys ? try self.temporaryKey(scope, in: &fixture) : nil
        let id = scope == .activation ? self.activationID : nil
        let parameters = ECIESParameters(
            version: self.version,
            applicationKey: self.application.key,
            applicationSecret: try self.secret,
            scope: try id.map { .activation(id: $0, transportKey: try #require(self.keys).transport) } ?? .application,
            purpose: purpose,
            temporaryKeyID: key?.id
        )
        var exchange = ECIESClientExchange(parameters: parameters, recipient: try key?.key ?? self.recipient(scope))
        let request = try exchange.encryptRequest(
            content.serialized(),
            ephemeralKey: .generate(),
            nonce: SecureRandom.bytes(16),
            timestamp: timestamp ?? fixture.milliseconds
        )
        let header = EncryptionHeader(applicationKey: self.application.key, activationID: id, version: self.version)
        return try SealedRequest((EncryptionHeader.name, header.value), request) { [exchange] body in
            var exchange = exchange
            return try JSONValue(parsing: exchange.decryptResponse(body.decode()))
        }
    }

    // MARK: - Activation

    /// The request to activate, and the keys that it takes to read the answer.
    struct ActivationAttempt {
        let privateKey: P256PrivateKey
        let inner: SealedRequest
        let outer: SealedRequest
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
        var content: JSONObject = [
            "devicePublicKey": .string(Base64.encode(privateKey.publicKey.compressed)),
            "activationName": "test device", "platform": "linux", "deviceInfo": "test",
        ]
        content["activationOtp"] = otp.map { .string($0) }
        let inner = try self.envelope(.activation, .object(content), in: &fixture)
        var layer = JSONObject([.init(key: kindMember, value: .string(kind))])
        layer["identityAttributes"] = identity
        layer["activationData"] = .object(inner.body)
        layer["customAttributes"] = customAttributes
        let outer = try self.envelope(.genericApplication, .object(layer), in: &fixture)
        return ActivationAttempt(privateKey: privateKey, inner: inner, outer: outer)
    }

    private mutating func finish(_ attempt: ActivationAttempt, with reply: Reply) throws -> JSONValue {
        let layer = try attempt.outer.open(reply.json)
        let answer = try attempt.inner.open(#require(layer["activationData"]))
        let point = try #require(answer["serverPublicKey"]?.string.flatMap { Base64.decode($0) })
        let serverKey = try P256PublicKey(x963: point)
        self.activationID = try #require(answer["activationId"]?.string)
        self.serverKey = serverKey
        self.keys = try ActivationKeys(privateKey: attempt.privateKey, publicKey: serverKey)
        self.counter = HashCounter(data: try #require(answer["ctrData"]?.string.flatMap { Base64.decodeSecret($0) }))
        self.recovery = answer["activationRecovery"]
        return layer
    }

    /// Sends a request to activate, and takes over the keys if it is granted.
    mutating func send(_ attempt: ActivationAttempt, in fixture: inout BackendFixture) throws -> Exchange {
        let reply = fixture.send("/pa/v3/activation/create", attempt.outer)
        guard reply.status == 200 else { return (reply, Optional.none) }
        return (reply, try self.finish(attempt, with: reply))
    }

    /// - Parameter kind: The way in which the device says who its user is.
    mutating func sendActivation(_ identity: JSONValue, kind: String, in fixture: inout BackendFixture) throws
        -> Exchange
    {
        try self.send(self.activationAttempt(identity, kind: kind, in: &fixture), in: &fixture)
    }

    mutating func sendActivation(_ code: String, otp: String?, in fixture: inout BackendFixture) throws -> Exchange {
        let (identity, attributes): (JSONValue, JSONValue) = (["code": .string(code)], ["color": "blue"])
        let attempt = try self.activationAttempt(identity, otp: otp, customAttributes: attributes, in: &fixture)
        return try self.send(attempt, in: &fixture)
    }

    mutating func activate(_ code: String, in fixture: inout BackendFixture) throws {
        let reply = try self.sendActivation(code, otp: nil, in: &fixture).reply
        try #require(reply.status == 200, "\(reply.outcome)")
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

    func key(of factor: SignatureFactor) throws -> SecretBytes { try #require(self.keys).key(of: factor) }

    mutating func header(_ type: SignatureType, _ data: SignatureData, nonce: [UInt8], keys: [SecretBytes]) throws
        -> HeaderField
    {
        let signature = RequestSignature(data, keys: keys, counter: self.counter, secret: .online(try self.secret))
        self.loseRequests(1)
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

    mutating func loseRequests(_ count: Int) { self.counter = self.counter.advanced(by: count) }

    /// Returns the code that a person types in to approve without a network.
    mutating func offlineCode(_ data: SignatureData, _ type: SignatureType, digits: Int) throws -> String {
        let keys = try #require(self.keys).keys(for: type)
        let signature = RequestSignature(data, keys: keys, counter: self.counter, secret: .offline)
        self.loseRequests(1)
        return signature.offline(componentLength: digits)
    }

    // MARK: - Tokens

    func tokenHeader(timestamp: Milliseconds) -> HeaderField {
        let nonce = SecureRandom.bytes(16)
        let (id, secret) = (self.tokenID, self.tokenSecret)
        let header = TokenHeader(tokenID: id, secret: secret, nonce: nonce, timestamp: timestamp, version: self.version)
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
