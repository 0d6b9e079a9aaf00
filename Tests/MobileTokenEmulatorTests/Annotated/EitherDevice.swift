import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

@testable import EmulatorBackend
@testable import MobileTokenEmulator

/// A device of version 3 or 4, for what both do alike.
enum EitherDevice {
    case version3(TestDevice)
    case version4(TestDevice4)

    init(_ version: MajorVersion, in fixture: inout BackendFixture) throws {
        self =
            switch version {
            case .version3: .version3(try fixture.activeDevice())
            case .version4: .version4(try fixture.activeDevice4(enableBiometry: true))
            }
    }

    var activationID: String {
        switch self {
        case .version3(let device): device.activationID
        case .version4(let device): device.activationID
        }
    }

    /// The path of an endpoint that both versions have.
    func path(_ name: String) -> String {
        switch self {
        case .version3: "/pa/v3/" + name
        case .version4: "/pa/v4/" + name
        }
    }

    /// Signs the content, and encrypts it then.
    mutating func signThenEncrypt(
        _ path: String,
        uriID: String,
        _ json: JSONValue,
        with type: SignatureType = .possessionKnowledge,
        in fixture: inout BackendFixture,
        changing change: (inout JSONObject) -> Void = { _ in }
    ) throws -> (reply: Reply, answer: JSONValue?) {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            return try device.sendAnnotated(path, uriID: uriID, type, json, in: &fixture, changing: change)
        case .version4(var device):
            defer { self = .version4(device) }
            let type = try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue))
            let sent = try device.sendAnnotated(path, uriID: uriID, type, json, in: &fixture, changing: change)
            return (sent.reply, sent.content)
        }
    }

    /// Encrypts the content, and signs the envelope then.
    mutating func encryptThenSign(
        _ path: String,
        uriID: String,
        _ json: JSONValue,
        with type: SignatureType = .possessionKnowledge,
        purpose: String = "/pa/generic/activation",
        in fixture: inout BackendFixture
    ) throws -> Reply {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            var encryptor = try device.encryptor(
                #require(ECIESPurpose(rawValue: purpose)),
                activationScope: true,
                in: &fixture
            )
            let body = try TestDevice.encrypt(json, &encryptor, timestamp: fixture.milliseconds)
            return try device.sendSigned(path, uriID: uriID, type, body, in: &fixture)
        case .version4(var device):
            defer { self = .version4(device) }
            let purpose = try #require(Version4.EncryptionPurpose(rawValue: purpose))
            let envelope = try device.envelope(purpose, json, in: &fixture)
            let type = try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue))
            let header = try device.codeHeader(type, uriID: uriID, body: envelope.body)
            return fixture.send("POST", path, headers: [header], body: envelope.body)
        }
    }

    /// Signs a body and sends it as it is.
    mutating func sign(
        _ path: String,
        uriID: String,
        _ json: JSONValue = [:],
        with type: SignatureType = .possessionKnowledge,
        in fixture: inout BackendFixture
    ) throws -> Reply {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            return try device.sendSigned(path, uriID: uriID, type, json, in: &fixture)
        case .version4(var device):
            defer { self = .version4(device) }
            let type = try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue))
            return try device.send(path, uriID: uriID, type, json, in: &fixture)
        }
    }

    /// Lets the server judge a code, and do nothing else.
    mutating func validate(_ type: SignatureType = .possessionKnowledge, in fixture: inout BackendFixture) throws
        -> Reply
    {
        switch self {
        case .version3: return try self.sign(self.validatePath, uriID: self.validateURI, with: type, in: &fixture)
        case .version4(var device):
            defer { self = .version4(device) }
            return try device.validate(#require(Version4.AuthenticationCodeType(rawValue: type.rawValue)), in: &fixture)
        }
    }

    var validatePath: String { self.path(self.isVersion4 ? "auth/validate" : "signature/validate") }
    var validateURI: String { self.isVersion4 ? "/pa/auth/validate" : "/pa/signature/validate" }

    var isVersion4: Bool { if case .version4 = self { true } else { false } }

    mutating func codeHeader(
        _ type: SignatureType,
        uriID: String,
        method: String = "POST",
        body: [UInt8]
    ) throws -> (name: String, value: String) {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            return try device.signatureHeader(type, uriID: uriID, method: method, body: body)
        case .version4(var device):
            defer { self = .version4(device) }
            let type = try #require(Version4.AuthenticationCodeType(rawValue: type.rawValue))
            return try device.codeHeader(type, uriID: uriID, method: method, body: body)
        }
    }

    /// Spends counter values on requests that never arrive.
    mutating func loseRequests(_ count: Int) {
        switch self {
        case .version3(var device):
            device.counter = device.counter.advanced(by: count)
            self = .version3(device)
        case .version4(var device):
            device.counter = device.counter.advanced(by: count)
            self = .version4(device)
        }
    }

    /// Does something with another password.
    mutating func mistyping<Result>(_ body: (inout Self) throws -> Result) rethrows -> Result {
        let wrong = [UInt8](repeating: 7, count: self.isVersion4 ? 32 : 16)
        let right = self.exchangeKnowledge(for: SecretBytes(copying: wrong))
        defer { _ = self.exchangeKnowledge(for: right) }
        return try body(&self)
    }

    private mutating func exchangeKnowledge(for key: SecretBytes?) -> SecretBytes? {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            defer { device.wrongKnowledge = key }
            return device.wrongKnowledge
        case .version4(var device):
            defer { self = .version4(device) }
            defer { device.knowledge = key }
            return device.knowledge
        }
    }

    /// Fetches a token.
    mutating func createToken(_ type: SignatureType, in fixture: inout BackendFixture) throws {
        switch self {
        case .version3(var device):
            try device.createToken(type, in: &fixture)
            self = .version3(device)
        case .version4(var device):
            try device.createToken(#require(Version4.AuthenticationCodeType(rawValue: type.rawValue)), in: &fixture)
            self = .version4(device)
        }
    }

    func tokenHeader(in fixture: BackendFixture) throws -> (name: String, value: String) {
        switch self {
        case .version3(let device): device.tokenHeader(timestamp: fixture.milliseconds)
        case .version4(let device): try device.tokenHeader(timestamp: fixture.milliseconds)
        }
    }

    /// Sends an envelope without a signature.
    mutating func sendEnvelope(
        _ path: String,
        _ json: JSONValue = [:],
        headers: [(name: String, value: String)] = [],
        in fixture: inout BackendFixture
    ) throws -> (reply: Reply, answer: JSONValue?) {
        switch self {
        case .version3(var device):
            defer { self = .version3(device) }
            return try device.sendEnvelope(path, json, headers: headers, in: &fixture)
        case .version4(var device):
            defer { self = .version4(device) }
            let sent = try device.sendEnvelope(path, json, headers: headers, in: &fixture)
            return (sent.reply, sent.content)
        }
    }
}

extension BackendFixture {
    /// The failed attempts of the newest activation.
    var failures: Int { self.backend.activations[0].failedAttempts }
}
