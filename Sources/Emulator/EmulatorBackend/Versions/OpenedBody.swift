import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

/// A decrypted request body of any version, with the state for its response.
enum OpenedBody {
    case version3(Version3.OpenedEnvelope)
    case version4(Version4.OpenedEnvelope)

    var plaintext: [UInt8] {
        switch self {
        case .version3(let envelope): envelope.plaintext
        case .version4(let envelope): envelope.plaintext
        }
    }
}

/// The recipient of an encrypted body, from one of its headers.
struct Addressee {
    /// The full version, such as `3.3`.
    let versionName: String
    let applicationKey: String
    /// The activation; `nil` in application scope.
    let activationID: String?

    init(_ code: RequestCode, _ scope: EnvelopeScope) {
        self.versionName = code.versionName
        self.applicationKey = code.applicationKey
        self.activationID = scope == .activation ? code.activationID : nil
    }

    /// Reads the header that names the keys of a request opened before its endpoint sees it. A code's header takes precedence.
    init(opening context: RequestContext, _ scope: EnvelopeScope) throws(Refusal) {
        guard context.request.header(RequestCode.headerName) != nil else {
            try self.init(context, scope)
            return
        }
        let code: RequestCode
        do { code = try Backend.code(inHeaderOf: context) } catch { throw .encryption(error.reason) }
        self.init(code, scope)
    }

    /// Reads the header of an encrypted request.
    init(_ context: RequestContext, _ scope: EnvelopeScope) throws(Refusal) {
        guard let value = context.request.header(EncryptionHeader.name) else {
            throw .encryption("the header \(EncryptionHeader.name) is missing")
        }
        if let header = try? Version4.EncryptionHeader(parsing: value, scope: scope) {
            self.versionName = Version4.name
            self.applicationKey = header.applicationKey
            self.activationID = header.activationID
            return
        }
        do {
            let header = try EncryptionHeader(parsing: value, scope: scope)
            self.versionName = header.version.rawValue
            self.applicationKey = header.applicationKey
            self.activationID = header.activationID
        } catch {
            throw .encryption(error.description)
        }
    }
}

extension Backend {
    /// Opens a request's body and consumes it, whatever the request's outcome.
    mutating func open(
        _ context: inout RequestContext,
        for addressee: Addressee,
        _ admission: Admission = Admission()
    ) throws(Refusal) -> OpenedBody {
        guard let version = MajorVersion(name: addressee.versionName) else {
            throw .encryption("there is no version \(addressee.versionName)")
        }
        guard let application = self.application(ofKey: addressee.applicationKey) else {
            throw .encryption(self.objection(toApplicationKey: addressee.applicationKey))
        }
        let activation = try self.activation(addressee, of: application, &context)
        let object = try context.envelope()
        let admit = { () throws(Refusal) in
            if let activation { try Self.check(activation, version, admission) }
        }
        switch version {
        case .version3:
            guard let version = ProtocolVersion(rawValue: addressee.versionName) else {
                throw .encryption("there is no version \(addressee.versionName)")
            }
            let recipient = Version3.Recipient(
                version: version,
                application: application,
                activation: activation,
                purpose: activation == nil ? .genericApplication : .genericActivation
            )
            let envelope = try Version3.ReceivedEnvelope(strictly: object)
            // Even in a state in which it is not opened.
            try self.useUp(envelope, recipient, at: context.now)
            try admit()
            return .version3(try self.decrypt(envelope, recipient, &context))
        case .version4:
            try admit()
            let keys = activation.flatMap { activation in activation.device?.version4.map { (activation.id, $0) } }
            let recipient = Version4.Recipient(
                application: application,
                activation: keys,
                purpose: activation == nil ? .genericApplication : .genericActivation
            )
            let envelope = try self.open(object, recipient, &context)
            self.remember(envelope, at: context.now)
            return .version4(envelope)
        }
    }

    private func activation(
        _ addressee: Addressee,
        of application: ServerApplication,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation? {
        guard let id = addressee.activationID else { return nil }
        context.activationID = id
        guard let activation = self.state.activations[id], activation.applicationID == application.id,
            activation.device != nil
        else { throw .encryption("there is no such activation") }
        return activation
    }

    private static func check(
        _ activation: ServerActivation,
        _ version: MajorVersion,
        _ admission: Admission
    ) throws(Refusal) {
        guard admission.states.contains(activation.status) else {
            throw .encryption("the activation is \(activation.status.rawValue)")
        }
        guard activation.device?.admits(version, admission) == true else {
            throw .encryption("the envelope is of another version of the protocol than the activation")
        }
    }

    /// Encrypts a response for the sender of the request.
    mutating func seal(
        _ content: JSONValue,
        in body: OpenedBody,
        _ context: inout RequestContext
    ) throws(Refusal) -> JSONValue {
        switch body {
        case .version3(let envelope): try self.seal(content, in: envelope, isIndented: false, &context)
        case .version4(let envelope): try envelope.seal(content, isIndented: false, &context)
        }
    }
}

extension RequestContext {
    /// Throws if an envelope lacks a member that its version requires. Standard calls check that before opening, whatever their
    /// response to an envelope that does not open.
    func checkEnvelope(of versionName: String) throws(Refusal) {
        guard let envelope = try? self.envelope(), let version = ProtocolVersion(rawValue: versionName) else { return }
        var members = ["nonce"]
        if version.usesTimestamps { members.append("timestamp") }
        if version.usesTemporaryKeys { members.append("temporaryKeyId") }
        for member in members where envelope[member] ?? .null == .null {
            throw .authentication("'\(member)' is missing in an envelope of version \(versionName)")
        }
    }
}

extension JSONValue {
    /// Returns the plaintext of an encrypted response. Two servers write it: the enrollment server what it answers itself, and the
    /// one behind it, with indentation, what a standard call asks for. A length can be seen without the key.
    func sealable(isIndented: Bool) -> [UInt8] {
        isIndented ? Array(self.indented(separator: " : ").utf8) : self.serialized()
    }
}
