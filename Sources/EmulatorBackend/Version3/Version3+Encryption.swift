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
        /// What tells this request from every other, and until when it would be accepted again.
        fileprivate let use: (name: String, expiration: Milliseconds)

        /// The plaintext as JSON; nothing is an empty object.
        func json() throws(Refusal) -> JSONObject {
            guard !self.plaintext.isEmpty else { return [:] }
            let limits = JSONLimits(maximumDepth: 64)
            guard let object = (try? JSONValue(parsing: self.plaintext, limits: limits))?.object else {
                throw .invalidRequest("The decrypted body is not a JSON object")
            }
            return object
        }
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
    /// Opens a request that is encrypted and not signed: its header tells for whom.
    func openEncrypted(
        _ context: inout RequestContext,
        scope: EncryptionScope,
        purpose: ECIESPurpose
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        guard let value = context.request.header(EncryptionHeader.name) else {
            throw .encryption("the header \(EncryptionHeader.name) is missing")
        }
        let header: EncryptionHeader
        do {
            header = try EncryptionHeader(parsing: value, scope: scope)
        } catch {
            throw .encryption(error.description)
        }
        guard let application = self.application(ofKey: header.applicationKey) else {
            throw .encryption("the application key is unknown")
        }
        var activation: ServerActivation?
        if let id = header.activationID {
            context.activationID = id
            guard let known = self.state.activations[id], known.applicationID == application.id else {
                throw .encryption("there is no such activation")
            }
            guard known.status == .active else { throw .encryption("the activation is \(known.status.rawValue)") }
            activation = known
        }
        let recipient = Version3.Recipient(
            version: header.version,
            application: application,
            activation: activation,
            purpose: purpose
        )
        return try self.open(try context.json(), recipient, &context)
    }

    /// Opens a request that is signed as well: its signature header tells for whom. The envelope comes first, so that a
    /// damaged one costs no counter and no attempt.
    mutating func authenticateEncrypted(
        _ context: inout RequestContext,
        purpose: ECIESPurpose,
        uriID: String,
        allowing types: Set<SignatureType>
    ) throws(Refusal) -> (request: AuthenticatedRequest, envelope: Version3.OpenedEnvelope) {
        do {
            let code = try self.requestCode(of: &context)
            var opened: Version3.OpenedEnvelope?
            // Without these, it cannot be opened; the signature is then refused for the same reason.
            if let version = ProtocolVersion(rawValue: code.versionName), code.version == .version3,
                let activation = self.state.activations[code.activationID], activation.status == .active,
                let application = self.application(ofKey: code.applicationKey),
                application.id == activation.applicationID
            {
                let recipient = Version3.Recipient(
                    version: version,
                    application: application,
                    activation: activation,
                    purpose: purpose
                )
                opened = try self.open(try context.json(), recipient, &context)
            }
            let demand = CodeDemand(uriID: uriID, types: types, version: .version3)
            let request = try self.verify(code, &context, demand)
            guard let opened else { throw Refusal.encryption("the envelope was not opened") }
            self.remember(opened, at: context.now)
            return (request, opened)
        } catch let failure as AuthenticationFailure {
            throw AuthenticationDialect.powerAuth.refusal(failure)
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .encryption("the request cannot be opened")
        }
    }

    /// Opens an envelope. Nothing is remembered before the request is accepted.
    func open(
        _ object: JSONObject,
        _ recipient: Version3.Recipient,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        let now = context.now
        guard self.protocolRules.accepts(.version3) else {
            throw .encryption("the server no longer accepts version \(recipient.version.rawValue)")
        }
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
        var expiration = now + Self.envelopeAge
        if let timestamp = request.timestamp, recipient.version.usesTimestamps {
            guard timestamp <= now + self.limits.encryptionTimestampAhead.inMilliseconds else {
                throw .encryption("the timestamp is too far ahead")
            }
            guard timestamp >= now - Self.envelopeAge else { throw .encryption("the timestamp is too old") }
            expiration = timestamp + Self.envelopeAge
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

    /// How old an envelope may be, and for how long it is remembered: as long as a token request.
    private static var envelopeAge: Milliseconds { 7_200_000 }

    /// Makes sure that this request is not accepted again.
    mutating func remember(_ envelope: Version3.OpenedEnvelope, at now: Milliseconds) {
        self.state.replays.insert(envelope.use.name, until: envelope.use.expiration, at: now)
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
