import ExactJSON
import PowerAuthCrypto
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// The client half of version 3 or 4, computed from the protocol's values alone: its codes and envelopes may be wrong in every way.
protocol ClientDevice {
    associatedtype Purpose: RawRepresentable<String>

    var isVersion4: Bool { get }
    var activationID: String { get set }
    var tokenID: String { get set }
    var tokenSecret: SecretBytes { get set }
    /// Takes the place of the knowledge key, to sign with a wrong password.
    var wrongKnowledge: SecretBytes? { get set }

    /// Activates with a code, and takes over the keys if it is granted.
    mutating func sendActivation(_ code: String, otp: String?, in fixture: inout BackendFixture) throws
        -> (reply: Reply, answer: JSONValue?)

    func key(of factor: SignatureFactor) throws -> SecretBytes

    /// Signs with the keys of a type, and moves the counter as a client must: before the request leaves.
    mutating func header(_ type: SignatureType, _ data: SignatureData, nonce: [UInt8], keys: [SecretBytes]) throws
        -> HeaderField

    /// Encrypts a content.
    ///
    /// - Parameter timestamp: The fixture's time, unless it is to be another.
    mutating func envelope(
        _ purpose: Purpose,
        _ content: JSONValue,
        timestamp: Milliseconds?,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest

    /// - Parameters:
    ///   - activationID: `nil` for a key of the application.
    ///   - applicationKey: That of the device's application, unless it is to be another.
    func temporaryKeyRequest(_ activationID: String?, applicationKey: String?, signedWith signer: RequestSigner) throws
        -> String

    mutating func forgetTemporaryKeys()
    func tokenHeader(timestamp: Milliseconds) throws -> HeaderField
    /// Spends counter values on requests that never arrive.
    mutating func loseRequests(_ count: Int)
}

typealias HeaderField = (name: String, value: String)
typealias Exchange = (reply: Reply, answer: JSONValue?)

/// An encrypted request that was not sent yet.
struct SealedRequest {
    let header: HeaderField
    var body: JSONObject
    let open: (JSONValue) throws -> JSONValue

    init(_ header: HeaderField, _ body: some Encodable, open: @escaping (JSONValue) throws -> JSONValue) throws {
        (self.header, self.body, self.open) = (header, try #require(JSONValue(encoding: body).object), open)
    }

    var bytes: [UInt8] { JSONValue.object(self.body).serialized() }

    /// `nil` for a refusal.
    func answer(in reply: Reply) throws -> JSONValue? {
        guard reply.status == 200 else { return Optional.none }  // `nil` would be a null of JSON
        return try self.open(reply.json)
    }
}

/// The owner of the key that signs a request for a temporary key.
enum RequestSigner {
    case application, activation, nobody
}

extension ClientDevice {
    func path(_ name: String) -> String { (self.isVersion4 ? "/pa/v4/" : "/pa/v3/") + name }

    var validatePath: String { self.path(self.isVersion4 ? "auth/validate" : "signature/validate") }
    var validateURI: String { self.isVersion4 ? "/pa/auth/validate" : "/pa/signature/validate" }

    /// Signs with the key of another password.
    var isMistyping: Bool {
        get { self.wrongKnowledge != nil }
        set {
            let key = [UInt8](repeating: 7, count: self.isVersion4 ? 32 : 16)
            self.wrongKnowledge = newValue ? SecretBytes(copying: key) : nil
        }
    }

    mutating func envelope(_ purpose: Purpose, _ content: JSONValue = [:], in fixture: inout BackendFixture) throws
        -> SealedRequest
    {
        try self.envelope(purpose, content, timestamp: nil, in: &fixture)
    }

    /// Encrypts a content for a purpose, such as `/pa/token/create`.
    mutating func seal(
        _ content: JSONValue,
        for purpose: String,
        timestamp: Milliseconds? = nil,
        in fixture: inout BackendFixture
    ) throws -> SealedRequest {
        try self.envelope(#require(Purpose(rawValue: purpose)), content, timestamp: timestamp, in: &fixture)
    }

    /// The body of a request for a temporary key.
    func keyRequest(_ activationID: String? = nil, signedWith signer: RequestSigner = .application) throws -> JSONValue
    {
        let jwt = try self.temporaryKeyRequest(activationID, applicationKey: nil, signedWith: signer)
        return ["requestObject": ["jwt": .string(jwt)]]
    }

    mutating func codeHeader(
        _ type: SignatureType,
        uriID: String,
        method: String = "POST",
        body: [UInt8],
        query: String? = nil
    ) throws -> HeaderField {
        let nonce = SecureRandom.bytes(self.isVersion4 ? Version4.AuthenticationHeader.nonceByteCount : 16)
        let data =
            method == "GET"
            ? try SignatureData(method: method, uriID: uriID, nonce: nonce, query: query)
            : SignatureData(method: method, uriID: uriID, nonce: nonce, body: body)
        let keys = try type.factors.map { factor in
            if factor == .knowledge, let wrongKnowledge { wrongKnowledge } else { try self.key(of: factor) }
        }
        return try self.header(type, data, nonce: nonce, keys: keys)
    }

    /// Signs a body and sends it as it is.
    ///
    /// - Parameter uriID: That of the path, unless it is to be another.
    mutating func sendSigned(
        _ path: String,
        uriID: String? = nil,
        _ type: SignatureType = .possessionKnowledge,
        _ json: JSONValue = [:],
        in fixture: inout BackendFixture
    ) throws -> Reply {
        let body = json.serialized()
        let own = path.replacing(/^\/pa\/v[34]/, with: "/pa").replacing(/^\/api\/auth\/token\/app/, with: "")
        let header = try self.codeHeader(type, uriID: uriID ?? own, body: body)
        return fixture.send("POST", path, headers: [header], body: body)
    }

    mutating func authorize(
        _ operation: (id: String, data: String),
        _ type: SignatureType = .possessionKnowledge,
        more: JSONObject = [:],
        in fixture: inout BackendFixture
    ) throws -> Reply {
        var object: JSONObject = ["id": .string(operation.id), "data": .string(operation.data)]
        object.members += more.members
        let json: JSONValue = ["requestObject": .object(object)]
        return try self.sendSigned("/api/auth/token/app/operation/authorize", type, json, in: &fixture)
    }

    mutating func reject(
        _ id: String,
        reason: String = "UNKNOWN",
        _ type: SignatureType = .possession,
        in fixture: inout BackendFixture
    ) throws -> Reply {
        let json: JSONValue = ["requestObject": ["id": .string(id), "reason": .string(reason)]]
        return try self.sendSigned("/api/auth/token/app/operation/cancel", type, json, in: &fixture)
    }

    mutating func createToken(_ type: SignatureType = .possession, in fixture: inout BackendFixture) throws {
        let (reply, answer) = try self.sendEncrypted("token/create", type, in: &fixture)
        let token = try #require(answer, "\(reply.outcome) \(reply.verdict)")
        self.tokenID = try #require(token["tokenId"]?.string)
        self.tokenSecret = try #require(token["tokenSecret"]?.string.flatMap { Base64.decodeSecret($0) })
    }

    /// Lets the server judge a code, and do nothing else.
    mutating func validate(_ type: SignatureType = .possessionKnowledge, in fixture: inout BackendFixture) throws
        -> Reply
    {
        try self.sendSigned(self.validatePath, type, self.validateBody(), in: &fixture)
    }

    func validateBody() -> JSONValue { self.isVersion4 ? ["requestObject": ["reason": "VALIDATE_PASSWORD"]] : [:] }

    /// Signs the content, and encrypts it then.
    mutating func signThenEncrypt(
        _ path: String,
        uriID: String,
        _ json: JSONValue,
        with type: SignatureType = .possessionKnowledge,
        purpose: String = "/pa/generic/activation",
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> Exchange {
        var sealed = try self.seal(json, for: purpose, in: &fixture)
        change(&sealed.body)
        let header = try self.codeHeader(type, uriID: uriID, body: json.serialized())
        let reply = fixture.send(path, headers: [header], json: .object(sealed.body))
        return (reply, try sealed.answer(in: reply))
    }

    /// Encrypts the content, and signs the envelope then.
    mutating func encryptThenSign(
        _ path: String,
        uriID: String,
        _ json: JSONValue = [:],
        with type: SignatureType = .possessionKnowledge,
        purpose: String = "/pa/generic/activation",
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> Exchange {
        var sealed = try self.seal(json, for: purpose, in: &fixture)
        change(&sealed.body)
        let reply = try self.sendSigned(path, uriID: uriID, type, .object(sealed.body), in: &fixture)
        return (reply, try sealed.answer(in: reply))
    }

    /// Makes a standard call such as `vault/unlock`: its envelope has its name, and the code is of the envelope.
    mutating func sendEncrypted(
        _ call: String,
        _ type: SignatureType = .possessionKnowledge,
        _ content: JSONValue = [:],
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> Exchange {
        let (path, name) = (self.path(call), "/pa/" + call)
        return try self.encryptThenSign(
            path,
            uriID: name,
            content,
            with: type,
            purpose: name,
            in: &fixture,
            changing: change
        )
    }

    /// Sends an envelope without a signature.
    mutating func sendEnvelope(
        _ path: String,
        _ json: JSONValue = [:],
        purpose: String = "/pa/generic/activation",
        headers: [HeaderField] = [],
        in fixture: inout BackendFixture
    ) throws -> Exchange {
        let sealed = try self.seal(json, for: purpose, in: &fixture)
        let reply = fixture.send(path, sealed, headers: headers)
        return (reply, try sealed.answer(in: reply))
    }

    func tokenHeader(in fixture: BackendFixture) throws -> HeaderField {
        try self.tokenHeader(timestamp: fixture.milliseconds)
    }

    func sendToken(to path: String, in fixture: inout BackendFixture) throws -> Reply {
        fixture.send(path, headers: [try self.tokenHeader(in: fixture)], json: [:])
    }
}

extension BackendFixture {
    mutating func send(_ path: String, _ sealed: SealedRequest, headers: [HeaderField] = []) -> Reply {
        self.send(path, headers: headers + [sealed.header], json: .object(sealed.body))
    }

    /// A device that may decide; of version 4, with biometry.
    mutating func device(_ version: MajorVersion, user: String = "alice") throws -> any ClientDevice {
        switch version {
        case .version3: try self.activeDevice(user: user)
        case .version4: try self.activeDevice4(user: user, enableBiometry: true)
        }
    }

    mutating func device(_ version: ProtocolVersion) throws -> any ClientDevice {
        version == .v4_0 ? try self.device(.version4) : try self.activeDevice(version: version)
    }

    mutating func deviceWithToken(of version: MajorVersion) throws -> any ClientDevice {
        var device = try self.device(version)
        try device.createToken(.possession, in: &self)
        return device
    }

    func newDevice(_ version: MajorVersion) throws -> any ClientDevice {
        switch version {
        case .version3: self.newDevice()
        case .version4: try self.newDevice4()
        }
    }

    func newDevice(_ version: ProtocolVersion = .v3_3) -> TestDevice {
        TestDevice(application: self.backend.defaultApplication, version: version)
    }

    func newDevice4(_ suite: AlgorithmSuite = .p384) throws -> TestDevice4 {
        try TestDevice4(application: self.backend.defaultApplication, suite: suite)
    }

    /// The code of a new registration.
    mutating func activationCode(user: String = "alice", _ more: JSONObject = [:]) throws -> String {
        var request: JSONObject = ["userId": .string(user)]
        request.members += more.members
        return try #require(self.cloud("POST", "/v2/registrations", .object(request)).json["activationCode"]?.string)
    }

    static func active(_ version: MajorVersion) throws -> (Self, any ClientDevice) {
        try Self.with { try $0.device(version) }
    }

    static func active() throws -> (Self, TestDevice) { try Self.with { try $0.activeDevice() } }

    static func active4() throws -> (Self, TestDevice4) { try Self.with { try $0.activeDevice4() } }

    static func withToken() throws -> (Self, TestDevice) { try Self.with { try $0.deviceWithToken() } }

    /// A new server, and what is made there first.
    static func with<Made>(_ make: (inout Self) throws -> Made) throws -> (Self, Made) {
        var fixture = try Self()
        let made = try make(&fixture)
        return (fixture, made)
    }

    var failures: Int { self.backend.activations[0].failedAttempts }
}
