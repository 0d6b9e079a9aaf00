import EmulatorBackend
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// A device that sends what a recording says. It computes with the SDK's values of the protocol, and decides nothing.
final class RecordedDevice {
    /// A request for a temporary key was refused.
    struct Refused: Error {
        let exchange: RecordedExchange
    }

    /// There is nothing that the call could be made with: no keys, no token.
    struct Nothing: Error {}

    let server: RecordedServer
    var version: ProtocolVersion
    var application: (key: String, secret: ApplicationSecret)
    /// The activation; also while it has no keys.
    var id: String
    var code: String
    private(set) var keys: ActivationKeys?
    private(set) var serverKey: P256PublicKey?
    private var counters: [HashCounter] = []
    /// The number of the next counter.
    var position = 0
    var temporaryKeys: [ECIESPurpose.Scope: (id: String, key: P256PublicKey)] = [:]
    var token: JSONValue?
    var log: [RecordedExchange] = []

    init(_ server: RecordedServer, version: ProtocolVersion = .v3_3, id: String = "", code: String = "") throws {
        (self.server, self.version, self.id, self.code) = (server, version, id, code)
        guard let secret = ApplicationSecret(base64: server.application.secret) else { throw Nothing() }
        self.application = (server.application.key, secret)
    }

    // MARK: - Sending

    @discardableResult
    func send(
        _ path: String,
        _ headers: [RecordedField] = [],
        _ body: [UInt8]?,
        _ call: RecordedCall = RecordedCall(),
        isNoted: Bool = true
    ) -> RecordedExchange {
        var request = ReceivedRequest(method: call.method, target: path)
        request.headers = call.common
        if body != nil, let type = call.contentType { request.headers.append(("Content-Type", type)) }
        request.headers += headers
        request.body = body.map(call.tamper) ?? []
        return self.send(request, isNoted: isNoted)
    }

    @discardableResult
    func send(_ request: ReceivedRequest, isNoted: Bool = true) -> RecordedExchange {
        let exchange = RecordedExchange(request: request, reply: self.server.reply(to: request))
        if isNoted { self.log.append(exchange) }
        return exchange
    }

    /// Notes what was read in the last answer.
    @discardableResult
    private func note(_ change: (inout RecordedExchange) -> Void) -> RecordedExchange {
        var exchange = self.log.removeLast()
        change(&exchange)
        self.log.append(exchange)
        return exchange
    }

    // MARK: - Headers

    /// Returns the headers of a call: the right ones, or the recorded lines with right values in the place of their placeholders.
    private func headers(_ right: [(name: String, fields: [RecordedField])], _ call: RecordedCall) -> [RecordedField] {
        let known = [("application_key", self.application.key), ("activation_id", self.id)]
        var values = Dictionary(known + right.flatMap(\.fields).map { ($0.name, $0.value) }) { $1 }
        if let name = call.unpadded { values[name] = values[name].map { String($0.prefix { $0 != "=" }) } }
        values.merge(call.values) { $1 }
        guard let lines = call.headers else {
            return right.map { name, fields in
                let written = fields.filter { $0.name != "decimal" && !call.missing.contains($0.name) }
                return (
                    name, RecordedTemplate.written(written.map { ($0.name, values[$0.name] ?? "") }, in: call.style)
                )
            }
        }
        return lines.map { line in
            let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), RecordedTemplate.filled(parts.count > 1 ? String(parts[1]) : "", values))
        }
    }

    private func counter(at position: Int) -> HashCounter {
        while self.counters.count <= position { self.counters.append(self.counters[self.counters.count - 1].next()) }
        return self.counters[position]
    }

    /// Signs, and moves the counter as a client must.
    func signatureFields(_ uriID: String, body: [UInt8], query: String?, _ call: RecordedCall) throws -> [RecordedField]
    {
        guard let keys = self.keys, self.position + call.ahead >= 0 else { throw Nothing() }
        var factorKeys = keys.keys(for: call.factors)
        if call.isWrong { factorKeys[factorKeys.count - 1] = SecretBytes(copying: [UInt8](repeating: 7, count: 16)) }
        let nonce = call.nonce ?? SecureRandom.bytes(16)
        let counter = self.counter(at: self.position + call.ahead)
        if call.ahead >= 0 { self.position += call.ahead + 1 }
        let data =
            try query.map {
                try SignatureData(method: call.signedMethod ?? call.method, uriID: uriID, nonce: nonce, query: $0)
            }
            ?? SignatureData(
                method: call.signedMethod ?? call.method,
                uriID: uriID,
                nonce: nonce,
                body: call.signedBody ?? body
            )
        let secret = SigningSecret.online(call.secret ?? self.application.secret)
        let signature = RequestSignature(data, keys: factorKeys, counter: counter, secret: secret)
        return [
            ("pa_activation_id", self.id), ("pa_application_key", self.application.key),
            ("pa_nonce", Base64.encode(nonce)),
            ("pa_signature_type", call.factors.rawValue), ("pa_signature", signature.online),
            ("pa_version", (call.version ?? self.version).rawValue), ("decimal", signature.offline()),
        ]
    }

    private func tokenFields(_ call: RecordedCall) throws -> [RecordedField] {
        guard let token = self.token, let secret = token["tokenSecret"]?.string.flatMap(Base64.decodeSecret(_:)) else {
            throw Nothing()
        }
        let nonce = call.nonce ?? SecureRandom.bytes(16)
        let (time, version) = (call.tokenTime ?? self.server.now.milliseconds, call.version ?? self.version)
        let digest = TokenDigest.digest(secret: secret, nonce: nonce, timestamp: time, version: version)
        return [
            ("token_id", token["tokenId"]?.string ?? ""), ("token_digest", Base64.encode(digest)),
            ("nonce", Base64.encode(nonce)), ("timestamp", "\(time)"), ("version", version.rawValue),
        ]
    }

    private func encryptionFields(_ scope: ECIESPurpose.Scope, _ call: RecordedCall) -> [RecordedField] {
        [("version", (call.version ?? self.version).rawValue), ("application_key", self.application.key)]
            + (scope == .activation ? [("activation_id", self.id)] : [])
    }

    // MARK: - Encryption

    func temporaryKey(_ scope: ECIESPurpose.Scope) throws -> (id: String, key: P256PublicKey) {
        if let key = self.temporaryKeys[scope] { return key }
        let request = TemporaryKeyRequest(
            applicationKey: self.application.key,
            activationID: scope == .activation ? self.id : nil,
            challenge: SecureRandom.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(
            applicationSecret: self.application.secret,
            transportKey: scope == .activation ? self.keys?.transport : nil
        )
        let body: JSONValue = ["requestObject": ["jwt": .string(jwt)]]
        let exchange = self.send("/pa/v3/keystore/create", [], body.serialized(), isNoted: false)
        guard let answer = exchange.reply.object["jwt"]?.string else { throw Refused(exchange: exchange) }
        let now = self.server.now.milliseconds
        let key = try TemporaryKeyResponse(jwt: answer, signedBy: self.recipient(scope), answering: request, now: now)
        self.temporaryKeys[scope] = (key.keyID, key.key)
        return (key.keyID, key.key)
    }

    /// The key of the server for requests before version 3.3.
    private func recipient(_ scope: ECIESPurpose.Scope) throws -> P256PublicKey {
        if scope == .activation, let key = self.serverKey { return key }
        return try P256PublicKey(x963: Base64.decode(self.server.application.masterServerPublicKey) ?? [])
    }

    /// An envelope, and what opens its answer.
    struct Sealed {
        let body: [UInt8]
        fileprivate let exchange: ECIESClientExchange

        func open(_ answer: JSONValue) throws -> JSONValue {
            var exchange = self.exchange
            return try JSONValue(parsing: exchange.decryptResponse(answer.decode(ECIESResponse.self)))
        }
    }

    func seal(_ content: [UInt8], for purpose: ECIESPurpose, _ call: RecordedCall) throws -> Sealed {
        let (scope, envelope) = (purpose.scope, call.envelope)
        let version = envelope.version ?? call.version ?? self.version
        let temporaryKey = version.usesTemporaryKeys ? try self.temporaryKey(scope) : nil
        let parameters = ECIESParameters(
            version: version,
            applicationKey: envelope.applicationKey ?? self.application.key,
            applicationSecret: envelope.secret ?? self.application.secret,
            scope: self.keys.flatMap { keys in
                scope == .activation ? .activation(id: self.id, transportKey: keys.transport) : nil
            } ?? .application,
            purpose: envelope.purpose ?? purpose,
            temporaryKeyID: temporaryKey?.id
        )
        let recipient = try temporaryKey?.key ?? self.recipient(scope)
        var (exchange, sealed): (ECIESClientExchange, JSONObject)
        repeat {
            exchange = ECIESClientExchange(parameters: parameters, recipient: recipient)
            let request = try exchange.encryptRequest(
                envelope.content ?? content,
                ephemeralKey: envelope.ephemeralKey ?? .generate(),
                ephemeralKeyForm: envelope.form,
                nonce: SecureRandom.bytes(16),
                timestamp: envelope.time ?? self.server.now.milliseconds
            )
            sealed = try JSONValue(encoding: request).object ?? [:]
        } while !envelope.isWanted(sealed)
        return Sealed(body: try envelope.change(sealed), exchange: exchange)
    }

    /// Reads the last answer, if it is encrypted.
    private func opened(_ sealed: Sealed) -> RecordedExchange {
        self.note { exchange in
            guard exchange.reply.status == 200, exchange.reply.json["encryptedData"] != nil else { return }
            do { exchange.content = try sealed.open(exchange.reply.json) } catch {
                exchange.content = .string("unreadable: \(error)")
            }
        }
    }

    // MARK: - Calls

    /// The layers of a request to activate: what the server reads, and what only it and the device read.
    struct Activation {
        var outer: JSONObject
        var inner: JSONObject
        /// The mistakes in the inner envelope; those in the outer one are the call's.
        var innerEnvelope = RecordedEnvelope()
        /// Takes the place of the inner envelope.
        var data: JSONValue?
        var privateKey = P256PrivateKey.generate()
    }

    /// Returns what a device sends to activate.
    func activation(name: String = "peer", otp: String? = nil) -> Activation {
        var activation = Activation(
            outer: ["type": "CODE", "identityAttributes": ["code": .string(self.code)]],
            inner: ["activationName": .string(name), "platform": "ios", "deviceInfo": "model"]
        )
        activation.inner["devicePublicKey"] = .string(Base64.encode(activation.privateKey.publicKey.compressed))
        activation.inner["activationOtp"] = otp.map { .string($0) }
        return activation
    }

    /// Exchanges keys, and takes them over if the server grants it.
    @discardableResult
    func activate(_ activation: Activation, _ call: RecordedCall = RecordedCall()) throws -> RecordedExchange {
        var innerCall = RecordedCall(version: call.version)
        innerCall.envelope = activation.innerEnvelope
        let inner = try self.seal(JSONValue.object(activation.inner).serialized(), for: .activation, innerCall)
        var layer = activation.outer
        layer["activationData"] = try activation.data ?? JSONValue(parsing: inner.body)
        let outer = try self.seal(JSONValue.object(layer).serialized(), for: .genericApplication, call)
        let headers = self.headers([(EncryptionHeader.name, self.encryptionFields(.application, call))], call)
        let exchange = self.send("/pa/v3/activation/create", headers, outer.body, call)
        guard exchange.reply.status == 200, exchange.reply.json["encryptedData"] != nil else { return exchange }
        var answer = try outer.open(exchange.reply.json).object ?? [:]
        let keys = try inner.open(answer["activationData"] ?? .null)
        try self.adopt(keys, activation.privateKey)
        let hidden = answer["activationData"]?.object?.members.map { member in
            JSONObject.Member(key: member.key, value: member.value.isNull ? .null : "<v>")
        }
        answer["activationData"] = .object(JSONObject(hidden ?? []))
        return self.note { $0.content = ["outer": .object(answer), "inner": keys] }
    }

    private func adopt(_ answer: JSONValue, _ privateKey: P256PrivateKey) throws {
        let serverKey = try P256PublicKey(x963: answer["serverPublicKey"]?.string.flatMap(Base64.decode(_:)) ?? [])
        self.id = answer["activationId"]?.string ?? ""
        self.serverKey = serverKey
        self.keys = try ActivationKeys(privateKey: privateKey, publicKey: serverKey)
        let data = answer["ctrData"]?.string.flatMap(Base64.decodeSecret(_:)) ?? SecretBytes(copying: [UInt8]())
        (self.counters, self.position) = ([HashCounter(data: data)], 0)
    }

    /// The resource that a code covers: the path without the version, or within the Mobile Token API.
    private static func uriID(_ path: String) -> String {
        String(path.prefix { $0 != "?" }).replacing("/pa/v3/", with: "/pa/").replacing("/api/auth/token/app", with: "")
    }

    /// Signs a body, or the query of a `GET`, and sends it as it is.
    @discardableResult
    func signed(
        _ path: String,
        uriID: String? = nil,
        _ body: [UInt8]? = Array("{}".utf8),
        _ call: RecordedCall = RecordedCall()
    ) throws -> RecordedExchange {
        let query = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).dropFirst().first
        let signedQuery = call.method == "GET" ? query.map(String.init) ?? "" : nil
        let uriID = uriID ?? Self.uriID(path)
        let fields = try self.signatureFields(uriID, body: body ?? [], query: signedQuery, call)
        return self.send(path, self.headers([(SignatureHeader.name, fields)], call), body, call)
    }

    /// Lets the server judge a code, and do nothing else.
    @discardableResult
    func validate(_ call: RecordedCall = RecordedCall()) throws -> RecordedExchange {
        try self.signed("/pa/v3/signature/validate", Array("{}".utf8), call)
    }

    /// Encrypts a content, and signs the envelope; or signs the content, where a call has no purpose of its own.
    @discardableResult
    func sealed(_ path: String, _ content: [UInt8], _ call: RecordedCall) throws -> RecordedExchange {
        let uriID = Self.uriID(path)
        let purpose = ECIESPurpose(rawValue: uriID) ?? .genericActivation
        let sealed = try self.seal(content, for: purpose, call)
        let signed =
            call.signsContent ?? (purpose == .genericActivation) ? call.envelope.content ?? content : sealed.body
        let fields = try self.signatureFields(uriID, body: signed, query: nil, call)
        self.send(path, self.headers([(SignatureHeader.name, fields)], call), sealed.body, call)
        let exchange = self.opened(sealed)
        if let token = exchange.content, token["tokenId"] != nil { self.token = token }
        guard purpose == .vaultUnlock, var vault = exchange.content?.object, let keys = self.keys,
            let encrypted = vault["encryptedVaultEncryptionKey"]?.string.flatMap(Base64.decode(_:))
        else { return exchange }
        let key = try? Vault.decryptVaultKey(encrypted, transportKey: keys.transport)
        vault["_key"] = key.map { $0 == keys.vault ? "right" : "wrong" } ?? "unreadable"
        return self.note { $0.content = .object(vault) }
    }

    /// Encrypts a content, and sends it without a signature.
    @discardableResult
    func encrypted(
        _ path: String,
        _ call: RecordedCall,
        purpose: ECIESPurpose = .genericActivation,
        content: [UInt8] = Array("{}".utf8),
        withToken: Bool = false
    ) throws -> RecordedExchange {
        let sealed = try self.seal(content, for: purpose, call)
        let token = withToken ? [(name: TokenHeader.name, fields: try self.tokenFields(call))] : []
        let header = (name: EncryptionHeader.name, fields: self.encryptionFields(purpose.scope, call))
        self.send(path, self.headers(token + [header], call), sealed.body, call)
        return self.opened(sealed)
    }

    @discardableResult
    func withToken(_ path: String, _ body: [UInt8]?, _ call: RecordedCall) throws -> RecordedExchange {
        let headers = self.headers([(TokenHeader.name, try self.tokenFields(call))], call)
        return self.send(path, headers, body, call)
    }

    /// Asks for the status, and reads its blob.
    @discardableResult
    func status() -> RecordedExchange {
        let challenge = SecureRandom.bytes(16)
        let object: JSONValue = ["activationId": .string(self.id), "challenge": .string(Base64.encode(challenge))]
        let body: JSONValue = ["requestObject": object]
        let exchange = self.send("/pa/v3/activation/status", [], body.serialized())
        guard exchange.reply.status == 200, let keys = self.keys else { return exchange }
        return self.note { exchange in
            do { exchange.blob = try self.blob(exchange.reply.object, challenge, keys.transport) } catch {
                exchange.blob = .string("unreadable: \(error)")
            }
        }
    }

    private func blob(_ answer: JSONValue, _ challenge: [UInt8], _ transportKey: SecretBytes) throws -> JSONValue {
        let blob = try ActivationStatusBlob(
            decrypting: answer["encryptedStatusBlob"]?.string.flatMap(Base64.decode(_:)) ?? [],
            transportKey: transportKey,
            challenge: challenge,
            nonce: answer["nonce"]?.string.flatMap(Base64.decode(_:)) ?? []
        )
        let counter = try (max(0, self.position - 40)..<(self.position + 45)).first { position in
            try self.counter(at: position).hash(transportKey: transportKey) == blob.counterHash
        }
        let numbers = [
            ("state", blob.state.rawValue), ("version", blob.currentVersion), ("upgrade", blob.upgradeVersion),
            ("ctrByte", blob.counterByte), ("failCount", blob.failedAttempts), ("maxFailCount", blob.maxFailedAttempts),
            ("lookAhead", blob.lookAhead),
        ]
        var object = JSONObject(numbers.map { .init(key: $0.0, value: .number(JSONNumber($0.1))) })
        object["counterAt"] = counter.map { .number(JSONNumber($0)) } ?? .null
        return .object(object)
    }
}

extension ECIESPurpose {
    enum Scope {
        case application, activation
    }

    var scope: Scope { self == .genericApplication || self == .activation ? .application : .activation }
}
