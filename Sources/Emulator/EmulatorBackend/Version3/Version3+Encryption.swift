import ExactJSON
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// A decrypted request, with the state for its response.
    struct OpenedEnvelope {
        fileprivate var decryptor: ECIESServerExchange
        let plaintext: [UInt8]
        let application: ServerApplication
        let activation: ServerActivation?
        let version: ProtocolVersion

        /// Returns the plaintext as JSON; an empty one is an empty object.
        func json() throws(Refusal) -> JSONObject { try JSONObject(plaintext: self.plaintext) }
    }

    /// The recipient and purpose of an encrypted request.
    struct Recipient {
        let version: ProtocolVersion
        let application: ServerApplication
        /// The activation; `nil` in application scope.
        let activation: ServerActivation?
        let purpose: ECIESPurpose
    }
}

extension Backend {
    /// Receives an encrypted and then signed request to a standard endpoint. The signature is verified before the envelope is
    /// opened, so a damaged one costs a counter step.
    mutating func authenticateEncrypted(
        _ context: inout RequestContext,
        purpose: ECIESPurpose,
        _ demand: SignaturePolicy
    ) throws(Refusal) -> (request: AuthenticatedRequest, envelope: Version3.OpenedEnvelope) {
        let cover = SignedPayload { bank, context in
            guard let code = try? bank.requestCode(of: &context) else { return nil }
            return bank.peek(into: code, purpose, &context)
        }
        let outcome = self.attempt(&context, demand, covering: cover)
        let envelope = try Version3.ReceivedEnvelope(context.json())
        let request = try outcome.get()
        let recipient: Version3.Recipient
        do { recipient = try self.recipient(of: request.code, purpose) } catch { throw .authentication(error.reason) }
        try envelope.checkMembers(of: recipient.version)
        do throws(Refusal) {
            return (request, try self.open(envelope, recipient, &context))
        } catch {
            throw .authentication(error.reason)
        }
    }

    /// Returns the content of a signed request's envelope without consuming it; `nil` if it does not open.
    private func peek(
        into code: RequestCode,
        _ purpose: ECIESPurpose,
        _ context: inout RequestContext
    ) -> [UInt8]? {
        guard let recipient = try? self.recipient(of: code, purpose), let object = try? context.envelope(),
            let envelope = try? Version3.ReceivedEnvelope(object)
        else { return nil }
        return try? self.decrypt(envelope, recipient, &context).plaintext
    }

    /// Returns the recipient of a signed request's envelope, from its signature header.
    func recipient(
        of code: RequestCode,
        _ purpose: ECIESPurpose
    ) throws(AuthenticationFailure) -> Version3.Recipient {
        guard let version = ProtocolVersion(rawValue: code.versionName), version.isVersion3,
            let activation = self.state.activations[code.activationID], activation.status == .active,
            let application = self.application(ofKey: code.applicationKey),
            application.id == activation.applicationID
        else { throw AuthenticationFailure("the header of the signature names nobody who could have sent it") }
        return Version3.Recipient(
            version: version,
            application: application,
            activation: activation,
            purpose: purpose
        )
    }

    /// Opens an envelope and consumes it, even if it does not open.
    mutating func open(
        _ envelope: Version3.ReceivedEnvelope,
        _ recipient: Version3.Recipient,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        try self.useUp(envelope, recipient, at: context.now)
        return try self.decrypt(envelope, recipient, &context)
    }

    /// Prevents the replay of an envelope with a timestamp; versions before 3.2 have no such protection.
    mutating func useUp(
        _ envelope: Version3.ReceivedEnvelope,
        _ recipient: Version3.Recipient,
        at now: Milliseconds
    ) throws(Refusal) {
        guard recipient.version.usesTimestamps, let request = envelope.request, let timestamp = request.timestamp else {
            return
        }
        try self.check(timestamp, at: now)
        let use = "E\(recipient.activation?.id ?? "")\(Base64.encode(request.nonce + request.ephemeralPublicKey))"
        guard !self.state.replays.contains(use, at: now) else { throw .encryption("the request was sent before") }
        self.forbidReplay(of: use, until: self.profile.envelopeWindow(self.limits).end(of: timestamp, at: now), at: now)
    }

    /// Opens a consumed envelope.
    func decrypt(
        _ envelope: Version3.ReceivedEnvelope,
        _ recipient: Version3.Recipient,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version3.OpenedEnvelope {
        guard self.accepts(.version3) else {
            throw .encryption("the server no longer accepts version \(recipient.version.rawValue)")
        }
        guard let request = envelope.request else { throw .encryption("the envelope has not the right members") }
        var scope = ECIESScope.application
        if let activation = recipient.activation {
            guard let keys = activation.device?.version3 else { throw .encryption("the activation has no keys") }
            scope = .activation(id: activation.id, transportKey: keys.derived.transport)
        }
        let parameters = ECIESParameters(
            version: recipient.version,
            applicationKey: recipient.application.key,
            applicationSecret: recipient.application.secret,
            scope: scope,
            purpose: recipient.purpose,
            temporaryKeyID: request.temporaryKeyID
        )
        let key = try self.key(for: request, recipient, at: context.now)
        var decryptor = ECIESServerExchange(parameters: parameters, privateKey: key)
        do {
            let plaintext = try decryptor.decryptRequest(request)
            context.inspection.noteOpened(plaintext)
            return Version3.OpenedEnvelope(
                decryptor: decryptor,
                plaintext: plaintext,
                application: recipient.application,
                activation: recipient.activation,
                version: recipient.version
            )
        } catch {
            throw .encryption(error.description)
        }
    }

    /// Returns the key of an envelope.
    private func key(
        for request: ECIESRequest,
        _ recipient: Version3.Recipient,
        at now: Milliseconds
    ) throws(Refusal) -> P256PrivateKey {
        guard recipient.version.usesTemporaryKeys else {
            let serverKey = recipient.activation?.device?.version3?.serverKey
            return serverKey ?? recipient.application.masterKey
        }
        let id = request.temporaryKeyID ?? ""
        let key = try self.temporaryKey(id, of: recipient.application, recipient.activation?.id, at: now)
        guard case .version3(let privateKey) = key.material else {
            throw .temporaryKey("the temporary key is of another version of the protocol")
        }
        return privateKey
    }

    /// Throws if an envelope's timestamp differs too much from the server's time.
    func check(_ timestamp: Milliseconds, at now: Milliseconds) throws(Refusal) {
        let window = self.profile.envelopeWindow(self.limits)
        guard let objection = window.objection(to: timestamp, at: now) else { return }
        throw .encryption(
            objection + self.profile.releases { $0.envelopeWindow(self.limits).admits(timestamp, at: now) }
        )
    }

    /// Encrypts a response for the sender of the request.
    ///
    /// - Parameter isIndented: `true` for a standard call's own content, see ``JSONValue/sealable(isIndented:)``.
    mutating func seal(
        _ body: JSONValue,
        in envelope: Version3.OpenedEnvelope,
        isIndented: Bool = true,
        _ context: inout RequestContext
    ) throws(Refusal) -> JSONValue {
        context.inspection.noteSealed(body)
        var decryptor = envelope.decryptor
        do {
            let nonce = self.state.randomness.bytes(16)
            return try decryptor.encryptResponse(
                body.sealable(isIndented: isIndented),
                nonce: nonce,
                timestamp: context.now
            ).json
        } catch {
            throw .encryption(error.description)
        }
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
