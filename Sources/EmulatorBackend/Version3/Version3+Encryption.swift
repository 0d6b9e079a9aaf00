import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// An encrypted request that was opened, and what it takes to respond to it.
    struct OpenedEnvelope {
        fileprivate var decryptor: ECIESServerExchange
        let plaintext: [UInt8]
        let application: ServerApplication
        let activation: ServerActivation?
        let version: ProtocolVersion
        /// The tag that tells this request from every other, and the time until which it would be accepted again.
        fileprivate let use: (name: String, expiration: Milliseconds)

        /// The plaintext as JSON; nothing is an empty object.
        func json() throws(Refusal) -> JSONObject { try JSONObject(plaintext: self.plaintext) }
    }

    /// For whom a request is encrypted, and for what.
    struct Recipient {
        let version: ProtocolVersion
        let application: ServerApplication
        /// `nil` in application scope.
        let activation: ServerActivation?
        let purpose: ECIESPurpose
    }
}

extension Backend {
    /// Receives a request to a standard endpoint that is encrypted first, and then signed. The signature is judged before
    /// the envelope is opened, so that a damaged one costs a step of the counter.
    ///
    /// - Parameter refusal: Makes the endpoint's refusal of an envelope that does not open.
    mutating func authenticateEncrypted(
        _ context: inout RequestContext,
        purpose: ECIESPurpose,
        _ demand: CodeDemand,
        refusing refusal: (String) -> Refusal
    ) throws(Refusal) -> (request: AuthenticatedRequest, envelope: Version3.OpenedEnvelope) {
        let code: RequestCode
        do {
            code = try self.requestCode(of: &context)
        } catch {
            throw self.refusal(error)
        }
        let cover = CodeCover { bank, context in (try? bank.open(for: code, purpose, &context))?.plaintext }
        let request = try self.authenticate(&context, demand, covering: cover)
        try context.checkEnvelope(of: code.versionName)
        do throws(Refusal) {
            let envelope = try self.open(for: code, purpose, &context)
            self.remember(envelope, at: context.now)
            return (request, envelope)
        } catch {
            throw refusal(error.reason)
        }
    }

    /// Opens the envelope of a signed request: its signature header tells for whom. Nothing is remembered.
    func open(
        for code: RequestCode,
        _ purpose: ECIESPurpose,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        guard let version = ProtocolVersion(rawValue: code.versionName), version.isVersion3,
            let activation = self.state.activations[code.activationID], activation.status == .active,
            let application = self.application(ofKey: code.applicationKey),
            application.id == activation.applicationID
        else { throw .encryption("the header of the signature names nobody who could have sent it") }
        let recipient = Version3.Recipient(
            version: version,
            application: application,
            activation: activation,
            purpose: purpose
        )
        return try self.open(try context.json(), recipient, &context)
    }

    /// Opens an envelope. Nothing is remembered before the request is accepted.
    func open(
        _ object: JSONObject,
        _ recipient: Version3.Recipient,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        let now = context.now
        guard self.accepts(.version3) else {
            throw .encryption("the server no longer accepts version \(recipient.version.rawValue)")
        }
        try object.refuseMembers(except: ECIESRequest.members)
        guard let request = ECIESRequest(object) else { throw .encryption("the envelope has not the right members") }
        var scope = ECIESScope.application
        if let activation = recipient.activation {
            guard let keys = activation.device?.version3 else { throw .encryption("the activation has no keys") }
            scope = .activation(id: activation.id, transportKey: keys.derived.transport)
        }
        let (key, expiration) = try self.key(for: request, recipient, at: now)
        let use = "E\(recipient.activation?.id ?? "")\(Base64.encode(request.nonce + request.ephemeralPublicKey))"
        guard !self.state.replays.contains(use, at: now) else { throw .encryption("the request was sent before") }
        let parameters = ECIESParameters(
            version: recipient.version,
            applicationKey: recipient.application.key,
            applicationSecret: recipient.application.secret,
            scope: scope,
            purpose: recipient.purpose,
            temporaryKeyID: request.temporaryKeyID
        )
        var decryptor = ECIESServerExchange(parameters: parameters, privateKey: key)
        do {
            let plaintext = try decryptor.decryptRequest(request)
            context.inspection.noteOpened(plaintext)
            return Version3.OpenedEnvelope(
                decryptor: decryptor,
                plaintext: plaintext,
                application: recipient.application,
                activation: recipient.activation,
                version: recipient.version,
                use: (use, expiration)
            )
        } catch {
            throw .encryption(error.description)
        }
    }

    /// The key that an envelope was made for, and until when the envelope would be accepted.
    private func key(
        for request: ECIESRequest,
        _ recipient: Version3.Recipient,
        at now: Milliseconds
    ) throws(Refusal) -> (P256PrivateKey, Milliseconds) {
        var expiration = now + TimestampWindow.longestMemory
        if let timestamp = request.timestamp, recipient.version.usesTimestamps {
            try self.check(timestamp, at: now)
            expiration = self.profile.envelopeWindow(self.limits).end(of: timestamp, at: now)
        }
        guard recipient.version.usesTemporaryKeys else {
            let serverKey = recipient.activation?.device?.version3?.serverKey
            return (serverKey ?? recipient.application.masterKey, expiration)
        }
        let id = request.temporaryKeyID ?? ""
        let key = try self.temporaryKey(id, of: recipient.application, recipient.activation?.id, at: now)
        guard case .version3(let privateKey) = key.material else {
            throw .temporaryKey("the temporary key is of another version of the protocol")
        }
        return (privateKey, key.expires)
    }

    /// Throws when the timestamp of an envelope differs too much from the server's time.
    func check(_ timestamp: Milliseconds, at now: Milliseconds) throws(Refusal) {
        let window = self.profile.envelopeWindow(self.limits)
        guard let objection = window.objection(to: timestamp, at: now) else { return }
        throw .encryption(
            objection + self.profile.releases { $0.envelopeWindow(self.limits).admits(timestamp, at: now) }
        )
    }

    /// Makes sure that this request is not accepted again.
    mutating func remember(_ envelope: Version3.OpenedEnvelope, at now: Milliseconds) {
        self.forbidReplay(of: envelope.use.name, until: envelope.use.expiration, at: now)
    }

    /// Encrypts a response for the sender of the request.
    mutating func seal(
        _ body: JSONValue,
        in envelope: Version3.OpenedEnvelope,
        _ context: inout RequestContext
    ) throws(Refusal) -> JSONValue {
        context.inspection.noteSealed(body)
        var decryptor = envelope.decryptor
        do {
            let nonce = self.state.randomness.bytes(16)
            return try decryptor.encryptResponse(body.serialized(), nonce: nonce, timestamp: context.now).json
        } catch {
            throw .encryption(error.description)
        }
    }
}

extension ECIESRequest {
    /// The members that an envelope may have.
    static let members: Set<String> = [
        "temporaryKeyId", "ephemeralPublicKey", "encryptedData", "mac", "nonce", "timestamp",
    ]

    /// Reads an envelope from JSON; nil when a member is missing, given twice or of another type.
    init?(_ object: JSONObject) {
        func bytes(_ name: String) -> [UInt8]? { object[name]?.string.flatMap { Base64.decode($0) } }
        func isAbsent(_ name: String) -> Bool { object[name]?.isNull ?? true }
        guard object.duplicateKeys.isEmpty, let ephemeralPublicKey = bytes("ephemeralPublicKey"),
            let encryptedData = bytes("encryptedData"),
            let mac = bytes("mac"), let nonce = bytes("nonce"),
            isAbsent("timestamp") || object["timestamp"]?.int64 != nil,
            isAbsent("temporaryKeyId") || object["temporaryKeyId"]?.string != nil
        else { return nil }
        self.init(
            temporaryKeyID: object["temporaryKeyId"]?.string,
            ephemeralPublicKey: ephemeralPublicKey,
            encryptedData: encryptedData,
            mac: mac,
            nonce: nonce,
            timestamp: object["timestamp"]?.int64
        )
    }
}

extension ECIESResponse {
    /// The members of the response's body.
    var json: JSONValue {
        var object: JSONObject = [
            "encryptedData": .string(Base64.encode(self.encryptedData)),
            "mac": .string(Base64.encode(self.mac)),
        ]
        object["nonce"] = self.nonce.map { .string(Base64.encode($0)) }
        object["timestamp"] = self.timestamp.map { .number(JSONNumber($0)) }
        return .object(object)
    }
}
