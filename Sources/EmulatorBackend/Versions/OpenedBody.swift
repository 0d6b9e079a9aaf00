import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The body of an encrypted request that was opened, in whichever version, and what it takes to encrypt the response.
enum OpenedBody {
    case version3(Version3.OpenedEnvelope)
    case version4(Version4.OpenedEnvelope)

    /// The content of the envelope.
    var plaintext: [UInt8] {
        switch self {
        case .version3(let envelope): envelope.plaintext
        case .version4(let envelope): envelope.plaintext
        }
    }
}

/// For whom the body of a request is encrypted, as one of its headers says.
struct Addressee {
    /// The version in full, such as `3.3`.
    let versionName: String
    let applicationKey: String
    /// `nil` in application scope.
    let activationID: String?

    init(_ code: RequestCode, _ scope: EncryptionScope) {
        self.versionName = code.versionName
        self.applicationKey = code.applicationKey
        self.activationID = scope == .activation ? code.activationID : nil
    }

    /// Reads the header of a request that is encrypted and has no code.
    init(_ context: RequestContext, _ scope: EncryptionScope) throws(Refusal) {
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
    /// Opens the body of a request. What opens is used up by it, whatever becomes of the request.
    mutating func open(
        _ context: inout RequestContext,
        for addressee: Addressee,
        _ admission: Admission = Admission()
    ) throws(Refusal) -> OpenedBody {
        guard let version = MajorVersion(name: addressee.versionName) else {
            throw .encryption("there is no version \(addressee.versionName)")
        }
        guard let application = self.application(ofKey: addressee.applicationKey) else {
            throw .encryption("the application key is unknown")
        }
        let activation = try self.activation(addressee, of: application, version, admission, &context)
        let body = try self.open(
            context.json(),
            for: (version, addressee.versionName, application, activation),
            &context
        )
        self.remember(body, at: context.now)
        return body
    }

    private func activation(
        _ addressee: Addressee,
        of application: ServerApplication,
        _ version: MajorVersion,
        _ admission: Admission,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerActivation? {
        guard let id = addressee.activationID else { return nil }
        context.activationID = id
        guard let activation = self.state.activations[id], activation.applicationID == application.id,
            let device = activation.device
        else { throw .encryption("there is no such activation") }
        guard admission.states.contains(activation.status) else {
            throw .encryption("the activation is \(activation.status.rawValue)")
        }
        guard device.admits(version, admission) else {
            throw .encryption("the envelope is of another version of the protocol than the activation")
        }
        return activation
    }

    private func open(
        _ envelope: JSONObject,
        for recipient: (
            version: MajorVersion, versionName: String, application: ServerApplication, activation: ServerActivation?
        ),
        _ context: inout RequestContext
    ) throws(Refusal) -> OpenedBody {
        let (application, activation) = (recipient.application, recipient.activation)
        switch recipient.version {
        case .version3:
            guard let version = ProtocolVersion(rawValue: recipient.versionName) else {
                throw .encryption("there is no version \(recipient.versionName)")
            }
            let recipient = Version3.Recipient(
                version: version,
                application: application,
                activation: activation,
                purpose: activation == nil ? .genericApplication : .genericActivation
            )
            return .version3(try self.open(envelope, recipient, &context))
        case .version4:
            let keys = activation.flatMap { activation in activation.device?.version4.map { (activation.id, $0) } }
            let recipient = Version4.Recipient(
                application: application,
                activation: keys,
                purpose: activation == nil ? .genericApplication : .genericActivation
            )
            return .version4(try self.open(envelope, recipient, &context))
        }
    }

    /// Makes sure that a request is not accepted again.
    mutating func remember(_ body: OpenedBody, at now: Milliseconds) {
        switch body {
        case .version3(let envelope): self.remember(envelope, at: now)
        case .version4(let envelope): self.remember(envelope, at: now)
        }
    }

    /// Encrypts a response for the sender of the request.
    mutating func seal(
        _ content: JSONValue,
        in body: OpenedBody,
        _ context: inout RequestContext
    ) throws(Refusal) -> JSONValue {
        switch body {
        case .version3(let envelope): try self.seal(content, in: envelope, &context)
        case .version4(let envelope): try envelope.seal(content, &context)
        }
    }
}

extension RequestContext {
    /// Throws when an envelope lacks a member that its version has. Standard calls look at that before they open it, whatever they
    /// answer to one that does not open.
    func checkEnvelope(of versionName: String) throws(Refusal) {
        guard let envelope = try? self.json(), let version = ProtocolVersion(rawValue: versionName) else { return }
        var members = ["nonce"]
        if version.usesTimestamps { members.append("timestamp") }
        if version.usesTemporaryKeys { members.append("temporaryKeyId") }
        for member in members where envelope[member] ?? .null == .null {
            throw .requestInvalid("'\(member)' is missing in an envelope of version \(versionName)")
        }
    }
}
