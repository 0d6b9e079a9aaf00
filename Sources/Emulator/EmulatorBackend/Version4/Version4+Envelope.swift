import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// The recipient and purpose of an encrypted request.
    struct Recipient {
        let application: ServerApplication
        /// The activation; `nil` in application scope.
        let activation: (id: String, keys: Keys)?
        let purpose: EncryptionPurpose
    }

    /// A decrypted request, with the state for its response.
    struct OpenedEnvelope {
        let temporaryKeyID: String
        let plaintext: [UInt8]
        private var exchange: ServerExchange
        /// The request's unique tag, and the time until which a replay would be accepted.
        fileprivate let use: (name: String, expiration: Milliseconds)

        /// Opens an envelope without consuming it.
        fileprivate init(
            opening body: JSONObject,
            for recipient: Recipient,
            _ bank: Backend,
            _ context: inout RequestContext
        ) throws(Refusal) {
            let now = context.now
            try body.refuseMembers(except: ["temporaryKeyId", "encryptedData", "nonce", "timestamp"])
            guard let request = body.message(EncryptedRequest.self) else {
                throw .encryption("the envelope has not the right members")
            }
            let (application, activationID) = (recipient.application, recipient.activation?.id)
            let key = try bank.temporaryKey(request.temporaryKeyID, of: application, activationID, at: now)
            guard case .version4(let secret) = key.material else {
                throw .temporaryKey("the temporary key is of another version of the protocol")
            }
            try bank.check(request.timestamp, at: now)
            let use = "N\(key.id)\(Base64.encode(request.nonce))"
            guard !bank.state.replays.contains(use, at: now) else { throw .encryption("the request was sent before") }
            do throws(EncryptionError) {
                var exchange = ServerExchange(parameters: try recipient.parameters(key.id, secret))
                self.plaintext = try exchange.decryptRequest(request)
                context.inspection.noteOpened(self.plaintext)
                self.exchange = exchange
            } catch {
                throw .encryption(error.description)
            }
            self.temporaryKeyID = key.id
            self.use = (use, key.expires)
        }

        func content() throws(Refusal) -> JSONObject { try JSONObject(plaintext: self.plaintext) }

        func seal(
            _ content: JSONValue,
            isIndented: Bool = true,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue {
            context.inspection.noteSealed(content)
            var exchange = self.exchange
            do {
                let plaintext = content.sealable(isIndented: isIndented)
                return try JSONValue(encoding: exchange.encryptResponse(plaintext, timestamp: context.now))
            } catch {
                throw .encryption("the response cannot be encrypted")
            }
        }
    }
}

extension Backend {
    /// Opens an envelope without consuming it.
    func open(
        _ body: JSONObject,
        _ recipient: Version4.Recipient,
        _ context: inout RequestContext
    ) throws(Refusal) -> Version4.OpenedEnvelope {
        try Version4.OpenedEnvelope(opening: body, for: recipient, self, &context)
    }

    /// Prevents a replay of this request. One that does not open stays unused, because anyone could have made it.
    mutating func remember(_ envelope: Version4.OpenedEnvelope, at now: Milliseconds) {
        self.forbidReplay(of: envelope.use.name, until: envelope.use.expiration, at: now)
    }
}

extension Version4.Recipient {
    fileprivate func parameters(
        _ temporaryKeyID: String,
        _ temporaryKey: SecretBytes
    ) throws(EncryptionError) -> Version4.EncryptionParameters {
        try Version4.EncryptionParameters(
            applicationKey: self.application.key,
            applicationSecret: self.application.secret,
            scope: self.activation.map {
                .activation(id: $0.id, sharedInfo2Key: $0.keys.derived.utility.sharedInfo2)
            } ?? .application,
            purpose: self.purpose,
            temporaryKeyID: temporaryKeyID,
            temporaryKey: temporaryKey
        )
    }
}

extension JSONObject {
    /// Decodes the object as a protocol message; `nil` if it is none, or repeats a member.
    func message<Message: Decodable>(_ type: Message.Type) -> Message? {
        let value = JSONValue.object(self)
        guard !value.hasRepeatedMembers else { return nil }
        return try? value.decode(type)
    }

    /// Decodes a member as a protocol message; `nil` if there is none, or its form is invalid.
    func message<Message: Decodable>(_ type: Message.Type, named name: String) -> Message? {
        (try? self.optionalObject(name))?.message(type)
    }
}

extension JSONValue {
    /// Indicates whether any object in it repeats a member, so that its meaning would depend on the reader.
    fileprivate var hasRepeatedMembers: Bool {
        switch self {
        case .object(let object):
            !object.duplicateKeys.isEmpty || object.members.contains { $0.value.hasRepeatedMembers }
        case .array(let elements): elements.contains { $0.hasRepeatedMembers }
        default: false
        }
    }
}
