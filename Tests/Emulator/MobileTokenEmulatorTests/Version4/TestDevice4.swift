import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The client half of version 4, computed from the protocol's values alone.
struct TestDevice4 {
    typealias CodeType = SignatureType

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
    var isMistyping = false
    private var temporaryKeys: [EnvelopeScope: (id: String, secret: SecretBytes)] = [:]

    init(application: ApplicationDescription, suite: AlgorithmSuite = .p384) throws {
        self.application = application
        self.suite = suite
        self.configuration = try SDKConfiguration(parsing: application.sdkConfiguration)
    }

    var secret: ApplicationSecret { self.configuration.applicationSecret }

    var masterKeys: Version4.SigningPublicKeys {
        get throws { try #require(self.configuration.version4MasterPublicKeys).keys(of: self.suite) }
    }

    mutating func forgetTemporaryKeys() { self.temporaryKeys = [:] }

    // MARK: - Temporary keys

    /// A request for a temporary key that was not sent yet.
    struct KeyAttempt: ~Copyable {
        let request: Version4.TemporaryKeyRequest
        let jwt: String
        let agreement: Version4.SharedSecretAgreement

        var body: JSONValue { ["requestObject": ["jwt": .string(self.jwt)]] }
    }

    func keyAttempt(_ scope: EnvelopeScope, suite: AlgorithmSuite? = nil) throws -> KeyAttempt {
        let agreement = try Version4.SharedSecretAgreement(suite: suite ?? self.suite)
        let request = Version4.TemporaryKeyRequest(
            applicationKey: self.application.key,
            activationID: scope == .activation ? self.activationID : nil,
            challenge: SecureRandom.bytes(32),
            sharedSecretRequest: agreement.request
        )
        let key =
            scope == .activation
            ? try #require(self.keys).utility.temporaryKeyRequest
            : try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: self.secret)
        return KeyAttempt(request: request, jwt: request.jwt(key: key), agreement: agreement)
    }

    /// Fetches a temporary key, or returns the one that is kept.
    mutating func temporaryKey(
        _ scope: EnvelopeScope,
        in fixture: inout BackendFixture
    ) throws -> (id: String, secret: SecretBytes) {
        if let known = self.temporaryKeys[scope] { return known }
        let attempt = try self.keyAttempt(scope)
        let reply = fixture.send(Version4.Endpoint.temporaryKey.path, json: attempt.body)
        let response = try Version4.TemporaryKeyResponse(
            jws: #require(reply.object["jwt"]?.string, "\(reply.outcome) \(reply.verdict)"),
            signedBy: scope == .activation ? #require(self.serverKeys) : self.masterKeys,
            answering: attempt.request,
            now: fixture.milliseconds
        )
        let key = (response.keyID, try attempt.agreement.secret(from: response.key))
        self.temporaryKeys[scope] = key
        return key
    }

    // MARK: - Encryption

    func parameters(
        _ purpose: Version4.EncryptionPurpose,
        _ key: (id: String, secret: SecretBytes)
    ) throws -> Version4.EncryptionParameters {
        try Version4.EncryptionParameters(
            applicationKey: self.application.key,
            applicationSecret: self.secret,
            scope: purpose.scope == .application
                ? .application
                : .activation(id: self.activationID, sharedInfo2Key: #require(self.keys).utility.sharedInfo2),
            purpose: purpose,
            temporaryKeyID: key.id,
            temporaryKey: key.secret
        )
    }

    /// An encrypted request that was not sent yet.
    struct Envelope {
        var exchange: Version4.ClientExchange
        let header: (name: String, value: String)
        let body: [UInt8]

        mutating func open(_ reply: Reply) throws -> JSONValue {
            let response = try JSONDecoder().decode(Version4.EncryptedResponse.self, from: Data(reply.body))
            return try JSONValue(parsing: self.exchange.decryptResponse(response))
        }
    }

    mutating func envelope(
        _ purpose: Version4.EncryptionPurpose,
        _ content: JSONValue,
        timestamp: Milliseconds? = nil,
        in fixture: inout BackendFixture
    ) throws -> Envelope {
        let key = try self.temporaryKey(purpose.scope, in: &fixture)
        let parameters = try self.parameters(purpose, key)
        var exchange = Version4.ClientExchange(parameters: parameters)
        let request = try exchange.encryptRequest(
            content.serialized(),
            nonce: SecureRandom.bytes(Version4.ClientExchange.nonceByteCount),
            timestamp: timestamp ?? fixture.milliseconds
        )
        return Envelope(
            exchange: exchange,
            header: (Version4.EncryptionHeader.name, parameters.header.value),
            body: Array(try JSONEncoder().encode(request))
        )
    }

    // MARK: - Activation

    /// A request for keys, and the private halves.
    struct KeysAttempt: ~Copyable {
        let agreement: Version4.SharedSecretAgreement
        let privateKeys: Version4.SigningPrivateKeys

        init(suite: AlgorithmSuite) throws {
            let privateKeys = try Version4.SigningPrivateKeys(suite: suite)
            let agreement = try Version4.SharedSecretAgreement(suite: suite)
            self.agreement = agreement
            self.privateKeys = privateKeys
        }

        var content: JSONObject {
            get throws {
                [
                    "sharedSecretRequest": try JSONValue(encoding: self.agreement.request),
                    "devicePublicKeys": try JSONValue(
                        encoding: Version4.SigningKeysMessage(self.privateKeys.publicKeys)
                    ),
                ]
            }
        }
    }

    /// Takes over the keys that a response completes.
    mutating func adopt(_ attempt: consuming KeysAttempt, _ message: Version4.NewKeysMessage) throws {
        let privateKeys = attempt.privateKeys
        let secret = try attempt.agreement.secret(from: message.sharedSecretResponse)
        let keys = try Version4.ActivationKeys(activationSecret: secret)
        self.privateKeys = privateKeys
        self.keys = keys
        self.knowledge = keys.knowledge
        self.serverKeys = try message.serverPublicKeys.keys(of: self.suite)
        self.counter = Version4.HashCounter(data: message.counterData)
    }

    /// The request to activate, and the keys that it takes to read the response.
    struct ActivationAttempt: ~Copyable {
        let keys: KeysAttempt
        var inner: Envelope
        var outer: Envelope
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
            "activationData": try JSONValue(parsing: inner.body),
        ]
        let outer = try self.envelope(.genericApplication, layer, in: &fixture)
        return ActivationAttempt(keys: keys, inner: inner, outer: outer)
    }

    @discardableResult
    mutating func finish(_ attempt: consuming ActivationAttempt, with reply: Reply) throws -> JSONValue {
        try #require(reply.status == 200, "\(reply.outcome) \(reply.verdict)")
        var (outer, inner) = (attempt.outer, attempt.inner)
        let layer = try outer.open(reply)
        let data = try #require(layer["activationData"])
        let response = try JSONDecoder().decode(Version4.EncryptedResponse.self, from: Data(data.serialized()))
        let content = try JSONDecoder().decode(
            Version4.ActivationResponseContent.self,
            from: Data(inner.exchange.decryptResponse(response))
        )
        self.activationID = content.activationID
        try self.adopt(attempt.keys, content.keys)
        return layer
    }

    mutating func activate(_ code: String, in fixture: inout BackendFixture) throws {
        let (reply, answer) = try self.sendActivation(code, otp: nil, in: &fixture)
        try #require(answer != nil, "\(reply.outcome) \(reply.verdict)")
    }

    /// Sends the first code of the activation.
    mutating func confirm(enableBiometry: Bool = false, in fixture: inout BackendFixture) throws -> Reply {
        let body: JSONValue = ["requestObject": ["enableBiometry": .bool(enableBiometry)]]
        let reply = try self.send(.activationConfirm, .possessionKnowledge, body, in: &fixture)
        if reply.status == 200, enableBiometry { self.biometry = self.keys?.biometry }
        return reply
    }

    // MARK: - Codes

    mutating func header(_ type: CodeType, _ data: SignatureData, nonce: [UInt8]) throws
        -> (name: String, value: String)
    {
        let type = try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue))
        let wrong = self.isMistyping ? SecretBytes(copying: [UInt8](repeating: 7, count: 32)) : nil
        let keys = try type.factors.map { factor in
            switch factor {
            case .possession: try #require(self.keys).possession
            case .knowledge: try wrong ?? #require(self.knowledge)
            case .biometry: try #require(self.biometry)
            }
        }
        let code = try Version4.AuthenticationCode(
            data,
            keys: keys,
            counter: self.counter,
            secret: .online(self.secret)
        )
        self.counter = self.counter.next()
        let header = Version4.AuthenticationHeader(
            activationID: self.activationID,
            applicationKey: self.application.key,
            nonce: nonce,
            type: type,
            code: code
        )
        return (Version4.AuthenticationHeader.name, header.value)
    }

    /// Sends a request with a code and a body that is not encrypted.
    mutating func send(
        _ endpoint: Version4.Endpoint,
        _ type: CodeType = .possessionKnowledge,
        _ json: JSONValue = ["requestObject": [:]],
        in fixture: inout BackendFixture
    ) throws -> Reply {
        guard case .code(let uriID, _) = endpoint.authentication else { throw NoCode() }
        return try self.sendSigned(endpoint.path, uriID: uriID, type, json, in: &fixture)
    }

    struct NoCode: Error {}

    /// Sends a request that is encrypted first and then authenticated.
    mutating func sendEncrypted(
        _ endpoint: Version4.Endpoint,
        _ type: CodeType = .possessionKnowledge,
        _ content: JSONValue = [:],
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        guard case .code(let uriID, _) = endpoint.authentication, let purpose = endpoint.encryption?.rawValue else {
            throw NoCode()
        }
        return try self.encryptThenSign(
            endpoint.path,
            uriID: uriID,
            content,
            with: type,
            purpose: purpose,
            in: &fixture
        )
    }

    /// Sends a request that is encrypted and not authenticated.
    mutating func sendUnauthenticated(
        _ endpoint: Version4.Endpoint,
        _ content: JSONValue = [:],
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        guard let purpose = endpoint.encryption?.rawValue else { throw NoCode() }
        return try self.sendEnvelope(endpoint.path, content, purpose: purpose, in: &fixture)
    }

    func validateBody(_ reason: String = "VALIDATE_PASSWORD") -> JSONValue {
        ["requestObject": ["reason": .string(reason)]]
    }

    // MARK: - Status

    mutating func status(
        in fixture: inout BackendFixture
    ) throws -> (blob: ActivationStatusBlob, blockExpires: Int64?) {
        let (reply, content) = try self.sendUnauthenticated(.activationStatus, in: &fixture)
        let value = try #require(content, "\(reply.outcome) \(reply.verdict)")
        #expect(value["timestampBlockExpire"] != nil)
        let response: Version4.ActivationStatusResponse = try value.decode()
        let key = try #require(self.keys).utility.status
        let blob = try ActivationStatusBlob(response.activationStatus, key: key)
        return (blob, response.timestampBlockExpire)
    }

    // MARK: - Replaceable keys

    /// Agrees on another key for a factor, and returns it; the caller decides whether it arrived.
    mutating func agree(_ endpoint: Version4.Endpoint, in fixture: inout BackendFixture) throws -> SecretBytes {
        let agreement = try Version4.SharedSecretAgreement(suite: self.suite)
        let request = try JSONValue(encoding: agreement.request)
        let (reply, content) = try self.sendEncrypted(endpoint, .possessionKnowledge, request, in: &fixture)
        let response: Version4.SharedSecretResponse = try #require(content, "\(reply.outcome) \(reply.verdict)")
            .decode()
        return try agreement.secret(from: response)
    }

    // MARK: - Tokens

    func tokenHeader(timestamp: Milliseconds) throws -> (name: String, value: String) {
        let header = try TokenHeader(
            version4TokenID: self.tokenID,
            secret: self.tokenSecret,
            nonce: SecureRandom.bytes(16),
            timestamp: timestamp
        )
        return (TokenHeader.name, header.value)
    }
}

extension TestDevice4: ClientDevice {
    var isVersion4: Bool { true }

    mutating func sendActivation(
        _ code: String,
        otp: String?,
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        let attempt = try self.activationAttempt(code, otp: otp, in: &fixture)
        let path = Version4.Endpoint.activationCreate.path
        let reply = fixture.send("POST", path, headers: [attempt.outer.header], body: attempt.outer.body)
        guard reply.status == 200 else { return (reply, nil) }
        return (reply, try self.finish(attempt, with: reply))
    }

    mutating func seal(
        _ content: JSONValue,
        for purpose: String,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest {
        let purpose = try #require(Version4.EncryptionPurpose(rawValue: purpose))
        let envelope = try self.envelope(purpose, content, in: &fixture)
        return try SealedRequest(header: envelope.header, body: JSONValue(parsing: envelope.body)) { reply in
            var envelope = envelope
            return try envelope.open(reply)
        }
    }

    func temporaryKeyRequest(
        _ activationID: String?,
        applicationKey: String?,
        signedWith signer: RequestSigner
    ) throws -> String {
        let request = Version4.TemporaryKeyRequest(
            applicationKey: applicationKey ?? self.application.key,
            activationID: activationID,
            challenge: SecureRandom.bytes(32),
            sharedSecretRequest: try Version4.SharedSecretAgreement(suite: self.suite).request
        )
        let key =
            switch signer {
            case .application: try Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: self.secret)
            case .activation: try #require(self.keys).utility.temporaryKeyRequest
            case .nobody: SecretBytes(copying: [UInt8](repeating: 1, count: 32))
            }
        return request.jwt(key: key)
    }

    mutating func loseRequests(_ count: Int) { self.counter = self.counter.advanced(by: count) }
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
        var device = try TestDevice4(application: self.backend.defaultApplication, suite: suite)
        let registration = self.cloud("POST", "/v2/registrations", ["userId": .string(user), "protocolVersion": "4.0"])
        let code = try #require(registration.json["activationCode"]?.string)
        try device.activate(code, in: &self)
        return device
    }
}

extension Reply {
    /// The reason of a refusal, as the journal has it.
    var reason: String? { if case .refused(let reason) = self.verdict { reason } else { nil } }
}
