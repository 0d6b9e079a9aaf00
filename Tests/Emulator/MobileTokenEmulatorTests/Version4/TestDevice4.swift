import EmulatorBackend
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The client half of version 4.
struct TestDevice4: ClientDevice {
    let application: ApplicationDescription
    let suite: AlgorithmSuite
    let configuration: SDKConfiguration
    var activationID = ""
    var keys: Version4.ActivationKeys?
    var privateKeys: Version4.SigningPrivateKeys?
    var serverKeys: Version4.SigningPublicKeys?
    var counter = Version4.HashCounter(data: SecretBytes(copying: [UInt8](repeating: 0, count: 32)))
    /// The key of the password, and of biometry where it is on.
    var knowledge: SecretBytes?
    var biometry: SecretBytes?
    var tokenID = ""
    var tokenSecret = SecretBytes(copying: [UInt8]())
    var wrongKnowledge: SecretBytes?
    private var temporaryKeys: [EnvelopeScope: (id: String, secret: SecretBytes)] = [:]

    init(application: ApplicationDescription, suite: AlgorithmSuite = .p384) throws {
        self.application = application
        self.suite = suite
        self.configuration = try SDKConfiguration(parsing: application.sdkConfiguration)
    }

    var isVersion4: Bool { true }

    private var secret: ApplicationSecret { self.configuration.applicationSecret }

    // MARK: - Temporary keys

    private func signingKey(_ signer: RequestSigner) throws -> SecretBytes {
        switch signer {
        case .application: try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: self.secret)
        case .activation: try #require(self.keys).utility.temporaryKeyRequest
        case .nobody: SecretBytes(copying: [UInt8](repeating: 1, count: 32))
        }
    }

    /// A request for a temporary key that was not sent yet.
    struct KeyAttempt: ~Copyable {
        let request: Version4.TemporaryKeyRequest
        let jwt: String
        let agreement: Version4.SharedSecretAgreement

        var body: JSONValue { ["requestObject": ["jwt": .string(self.jwt)]] }
    }

    private func keyAttempt(
        _ activationID: String?,
        applicationKey: String? = nil,
        suite: AlgorithmSuite? = nil,
        signedWith signer: RequestSigner
    ) throws -> KeyAttempt {
        let agreement = try Version4.SharedSecretAgreement(suite: suite ?? self.suite)
        let request = Version4.TemporaryKeyRequest(
            applicationKey: applicationKey ?? self.application.key,
            activationID: activationID,
            challenge: SecureRandom.bytes(32),
            sharedSecretRequest: agreement.request
        )
        let jwt = request.jwt(key: try self.signingKey(signer))
        return KeyAttempt(request: request, jwt: jwt, agreement: agreement)
    }

    func keyAttempt(_ scope: EnvelopeScope, suite: AlgorithmSuite? = nil) throws -> KeyAttempt {
        scope == .activation
            ? try self.keyAttempt(self.activationID, suite: suite, signedWith: .activation)
            : try self.keyAttempt(nil, suite: suite, signedWith: .application)
    }

    func temporaryKeyRequest(_ activationID: String?, applicationKey: String?, signedWith signer: RequestSigner) throws
        -> String
    {
        try self.keyAttempt(activationID, applicationKey: applicationKey, signedWith: signer).jwt
    }

    /// Fetches a temporary key, or returns the one that is kept.
    private mutating func temporaryKey(_ scope: EnvelopeScope, in fixture: inout BackendFixture) throws
        -> (id: String, secret: SecretBytes)
    {
        if let known = self.temporaryKeys[scope] { return known }
        let attempt = try self.keyAttempt(scope)
        let reply = fixture.send(Version4.Endpoint.temporaryKey.path, json: attempt.body)
        let masterKeys = try #require(self.configuration.version4MasterPublicKeys).keys(of: self.suite)
        let response = try Version4.TemporaryKeyResponse(
            jws: #require(reply.object["jwt"]?.string, "\(reply.outcome) \(reply.verdict)"),
            signedBy: scope == .activation ? #require(self.serverKeys) : masterKeys,
            answering: attempt.request,
            now: fixture.milliseconds
        )
        let key = (response.keyID, try attempt.agreement.secret(from: response.key))
        self.temporaryKeys[scope] = key
        return key
    }

    mutating func forgetTemporaryKeys() { self.temporaryKeys = [:] }

    // MARK: - Encryption

    mutating func envelope(
        _ purpose: Version4.EncryptionPurpose,
        _ content: JSONValue,
        timestamp: Milliseconds?,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest {
        let key = try self.temporaryKey(purpose.scope, in: &fixture)
        let parameters = try Version4.EncryptionParameters(
            applicationKey: self.application.key,
            applicationSecret: self.secret,
            scope: purpose.scope == .application
                ? .application
                : .activation(id: self.activationID, sharedInfo2Key: #require(self.keys).utility.sharedInfo2),
            purpose: purpose,
            temporaryKeyID: key.id,
            temporaryKey: key.secret
        )
        var exchange = Version4.ClientExchange(parameters: parameters)
        let (nonce, time) = (SecureRandom.bytes(Version4.ClientExchange.nonceByteCount), fixture.milliseconds)
        let request = try exchange.encryptRequest(content.serialized(), nonce: nonce, timestamp: timestamp ?? time)
        return try SealedRequest((Version4.EncryptionHeader.name, parameters.header.value), request) {
            [exchange] body in
            var exchange = exchange
            return try JSONValue(parsing: exchange.decryptResponse(body.decode()))
        }
    }

    // MARK: - Activation

    /// A request for keys, and the private halves.
    struct KeysAttempt: ~Copyable {
        let agreement: Version4.SharedSecretAgreement
        let privateKeys: Version4.SigningPrivateKeys

        init(suite: AlgorithmSuite) throws {
            let privateKeys = try Version4.SigningPrivateKeys(suite: suite)
            self.agreement = try Version4.SharedSecretAgreement(suite: suite)
            self.privateKeys = privateKeys
        }

        var content: JSONObject {
            get throws {
                let keys = Version4.SigningKeysMessage(self.privateKeys.publicKeys)
                return [
                    "sharedSecretRequest": try JSONValue(encoding: self.agreement.request),
                    "devicePublicKeys": try JSONValue(encoding: keys),
                ]
            }
        }
    }

    /// Takes over the keys that a response completes.
    mutating func adopt(_ attempt: consuming KeysAttempt, _ message: Version4.NewKeysMessage) throws {
        let privateKeys = attempt.privateKeys
        let secret = try attempt.agreement.secret(from: message.sharedSecretResponse)
        let keys = try Version4.ActivationKeys(activationSecret: secret)
        (self.privateKeys, self.keys, self.knowledge) = (privateKeys, keys, keys.knowledge)
        self.serverKeys = try message.serverPublicKeys.keys(of: self.suite)
        self.counter = Version4.HashCounter(data: message.counterData)
    }

    /// The request to activate, and the keys that it takes to read the response.
    struct ActivationAttempt: ~Copyable {
        let keys: KeysAttempt
        let inner: SealedRequest
        let outer: SealedRequest
    }

    /// - Parameter change: Changes the inner layer before it is encrypted.
    mutating func activationAttempt(
        _ code: String,
        otp: String? = nil,
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> ActivationAttempt {
        let keys = try KeysAttempt(suite: self.suite)
        var content = try keys.content
        content["activationName"] = "test device"
        content["platform"] = "linux"
        content["deviceInfo"] = "test"
        content["activationOtp"] = otp.map { .string($0) }
        change(&content)
        let inner = try self.envelope(.activation, .object(content), in: &fixture)
        let layer: JSONValue = [
            "type": "CODE", "identityAttributes": ["code": .string(code)], "customAttributes": ["color": "blue"],
            "activationData": .object(inner.body),
        ]
        let outer = try self.envelope(.genericApplication, layer, in: &fixture)
        return ActivationAttempt(keys: keys, inner: inner, outer: outer)
    }

    mutating func sendActivation(_ code: String, otp: String?, in fixture: inout BackendFixture) throws -> Exchange {
        let attempt = try self.activationAttempt(code, otp: otp, in: &fixture)
        let reply = fixture.send(Version4.Endpoint.activationCreate.path, attempt.outer)
        guard let layer = try attempt.outer.answer(in: reply) else { return (reply, Optional.none) }
        let answer = try attempt.inner.open(#require(layer["activationData"]))
        let content: Version4.ActivationResponseContent = try answer.decode()
        self.activationID = content.activationID
        try self.adopt(attempt.keys, content.keys)
        return (reply, layer)
    }

    /// Sends the first code of the activation.
    mutating func confirm(enableBiometry: Bool = false, in fixture: inout BackendFixture) throws -> Reply {
        let body: JSONValue = ["requestObject": ["enableBiometry": .bool(enableBiometry)]]
        let reply = try self.send(.activationConfirm, .possessionKnowledge, body, in: &fixture)
        if reply.status == 200, enableBiometry { self.biometry = self.keys?.biometry }
        return reply
    }

    // MARK: - Codes

    func key(of factor: SignatureFactor) throws -> SecretBytes {
        switch factor {
        case .possession: try #require(self.keys).possession
        case .knowledge: try #require(self.knowledge)
        case .biometry: try #require(self.biometry)
        }
    }

    mutating func header(_ type: SignatureType, _ data: SignatureData, nonce: [UInt8], keys: [SecretBytes]) throws
        -> HeaderField
    {
        let secret = SigningSecret.online(self.secret)
        let code = try Version4.AuthenticationCode(data, keys: keys, counter: self.counter, secret: secret)
        self.loseRequests(1)
        let header = Version4.AuthenticationHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue)),
            code: code
        )
        return (Version4.AuthenticationHeader.name, header.value)
    }

    mutating func loseRequests(_ count: Int) { self.counter = self.counter.advanced(by: count) }

    /// Sends a request with a code and a body that is not encrypted.
    mutating func send(
        _ endpoint: Version4.Endpoint,
        _ type: SignatureType = .possessionKnowledge,
        _ json: JSONValue = ["requestObject": [:]],
        in fixture: inout BackendFixture
    ) throws -> Reply {
        try self.sendSigned(endpoint.path, type, json, in: &fixture)
    }

    // MARK: - Status

    mutating func status(in fixture: inout BackendFixture) throws -> (blob: ActivationStatusBlob, blockExpires: Int64?)
    {
        let (reply, content) = try self.sendEnvelope(Version4.Endpoint.activationStatus.path, in: &fixture)
        let value = try #require(content, "\(reply.outcome) \(reply.verdict)")
        #expect(value["timestampBlockExpire"] != nil)
        let response: Version4.ActivationStatusResponse = try value.decode()
        let key = try #require(self.keys).utility.status
        return (try ActivationStatusBlob(response.activationStatus, key: key), response.timestampBlockExpire)
    }

    // MARK: - Replaceable keys

    /// Agrees on another key for a factor, and returns it; the caller decides whether it arrived.
    mutating func agree(_ call: String, in fixture: inout BackendFixture) throws -> SecretBytes {
        let agreement = try Version4.SharedSecretAgreement(suite: self.suite)
        let request = try JSONValue(encoding: agreement.request)
        let (reply, content) = try self.sendEncrypted(call, .possessionKnowledge, request, in: &fixture)
        let response = try #require(content, "\(reply.outcome) \(reply.verdict)")
        return try agreement.secret(from: response.decode())
    }

    // MARK: - Tokens

    func tokenHeader(timestamp: Milliseconds) throws -> HeaderField {
        let (nonce, secret) = (SecureRandom.bytes(16), self.tokenSecret)
        let id = self.tokenID
        let header = try TokenHeader(version4TokenID: id, secret: secret, nonce: nonce, timestamp: timestamp)
        return (TokenHeader.name, header.value)
    }
}

extension BackendFixture {
    /// A device that has exchanged keys, was committed, and has confirmed the activation.
    mutating func activeDevice4(
        user: String = "alice",
        suite: AlgorithmSuite = .p384,
        enableBiometry: Bool = false
    ) throws -> TestDevice4 {
        var device = try self.pendingDevice4(user: user, suite: suite)
        let committed = self.cloud("POST", "/v2/registrations/\(device.activationID)/commit", [:])
        try #require(committed.status == 200)
        let confirmed = try device.confirm(enableBiometry: enableBiometry, in: &self)
        try #require(confirmed.status == 200, "\(confirmed.outcome) \(confirmed.verdict)")
        return device
    }

    /// A device that has exchanged keys, and nothing else.
    mutating func pendingDevice4(user: String = "alice", suite: AlgorithmSuite = .p384) throws -> TestDevice4 {
        var device = try self.newDevice4(suite)
        let code = try self.activationCode(user: user, ["protocolVersion": "4.0"])
        let reply = try device.sendActivation(code, otp: nil, in: &self).reply
        try #require(reply.status == 200, "\(reply.outcome) \(reply.verdict)")
        return device
    }
}

extension Reply {
    /// The reason of a refusal, as the journal has it.
    var reason: String? { if case .refused(let reason) = self.verdict { reason } else { nil } }
}
