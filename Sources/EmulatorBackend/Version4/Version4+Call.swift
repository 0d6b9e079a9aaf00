import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

extension Version4 {
    /// A request of an activation that was opened and authenticated as its endpoint asks.
    struct Call {
        let application: ServerApplication
        /// As it is after the request was authenticated.
        let activation: ServerActivation
        /// The keys of version 4, also while an upgrade waits for its confirmation.
        let keys: Keys
        /// `nil` where no code is asked for.
        let type: SignatureType?
        private let envelope: OpenedEnvelope?
        private let context: RequestContext

        fileprivate init(
            _ application: ServerApplication,
            _ activation: ServerActivation,
            _ keys: Keys,
            type: SignatureType?,
            envelope: OpenedEnvelope?,
            _ context: RequestContext
        ) {
            self.application = application
            self.activation = activation
            self.keys = keys
            self.type = type
            self.envelope = envelope
            self.context = context
        }

        /// The parameters: the decrypted object, or the `requestObject` of a body that is not encrypted.
        func parameters() throws(Refusal) -> JSONObject {
            if let envelope = self.envelope { return try envelope.content() }
            guard let object = try self.context.json().optionalObject("requestObject") else {
                throw .validation("The request object is missing")
            }
            return object
        }

        /// Returns the response: encrypted and bare, or in the usual object.
        fileprivate func response(
            _ content: JSONValue?,
            _ context: inout RequestContext
        ) throws(Refusal) -> ServerResponse {
            if let envelope = self.envelope { return .json(try envelope.seal(content ?? [:], &context)) }
            return content.map { .object($0) } ?? .ok
        }
    }
}

// MARK: - As a route

extension Backend.Route {
    /// Does what an endpoint of version 4 does for an activation that has authenticated its request, and returns the content of
    /// the response.
    typealias CallHandler =
        @Sendable (_ bank: inout Backend, _ call: Version4.Call, _ context: inout RequestContext) throws(Refusal)
        -> JSONValue?

    /// Creates the route of an endpoint that the devices of activations call.
    ///
    /// - Parameters:
    ///   - body: What it takes, unless bodies are encrypted.
    ///   - response: What it gives, unless bodies are encrypted.
    static func version4(
        _ endpoint: Version4.Endpoint,
        method: String = "POST",
        admission: Admission = Admission(),
        adds addition: Backend.Addition = .nothing,
        _ summary: String,
        takes body: RouteDescription.Body? = .optional(.anyRequest),
        gives response: Schema = .done,
        _ perform: @escaping CallHandler
    ) -> Self {
        .device(
            method,
            endpoint.path,
            adds: addition,
            summary,
            shows: endpoint.access,
            takes: endpoint.encryption == nil ? body : .required(.envelope4),
            gives: endpoint.encryption == nil ? response : .sealed4
        ) { (bank, context) throws(Refusal) in
            let call = try Version4.receive(endpoint, admission, &bank, &context)
            let content = try perform(&bank, call, &context)
            return try call.response(content, &context)
        }
    }
}

extension Version4.Endpoint {
    fileprivate var access: RouteDescription.Access {
        switch self.authentication {
        case .none: .open
        case .code, .version3Code: .code
        case .token: .token
        }
    }
}

// MARK: - Receiving

extension Version4 {
    fileprivate static func receive(
        _ endpoint: Endpoint,
        _ admission: Admission,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> Call {
        do {
            switch endpoint.authentication {
            case .none:
                return try Self.receiveEncrypted(endpoint, admission, &bank, &context)
            case .code(let uriID, let types):
                var types = Set(types.compactMap { SignatureType(rawValue: $0.rawValue) })
                if endpoint == .activationRemove, bank.protocolRules.allowsRemovalByPossession {
                    types.insert(.possession)
                }
                let demand = CodeDemand(
                    uriID: uriID,
                    types: types,
                    version: .version4,
                    admission: admission
                )
                return try Self.receive(endpoint, demand, &bank, &context)
            case .token:
                return try Self.receiveWithToken(endpoint, &bank, &context)
            case .version3Code:
                throw Refusal.encryption("the endpoint is for activations of version 3")
            }
        } catch let failure as AuthenticationFailure {
            throw AuthenticationDialect.powerAuth.refusal(failure)
        } catch let refusal as Refusal {
            throw refusal
        } catch {
            throw .encryption("the request cannot be opened")
        }
    }

    /// A request with a code. The envelope comes first, so that a damaged one costs no counter and no attempt.
    private static func receive(
        _ endpoint: Endpoint,
        _ demand: CodeDemand,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws -> Call {
        let code = try bank.requestCode(of: &context)
        var envelope: OpenedEnvelope?
        // Without these, it cannot be opened; the code is then refused for the same reason.
        if let purpose = endpoint.encryption, let activation = try? bank.activation(admittedBy: demand, for: code),
            let keys = activation.device?.version4, let application = bank.application(ofKey: code.applicationKey),
            application.id == activation.applicationID
        {
            let recipient = Recipient(application: application, activation: (activation.id, keys), purpose: purpose)
            envelope = try OpenedEnvelope(opening: context.json(), for: recipient, &bank, &context)
        }
        let request = try bank.verify(code, &context, demand)
        guard let keys = request.activation.device?.version4, endpoint.encryption == nil || envelope != nil else {
            throw Refusal.encryption("the envelope was not opened")
        }
        return Call(request.application, request.activation, keys, type: request.type, envelope: envelope, context)
    }

    /// A request that is encrypted and not authenticated: its header tells for whom.
    private static func receiveEncrypted(
        _ endpoint: Endpoint,
        _ admission: Admission,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> Call {
        guard let purpose = endpoint.encryption else { throw .encryption("the endpoint is not encrypted") }
        let header = try Self.encryptionHeader(of: context, scope: .activation)
        context.activationID = header.activationID
        guard let application = bank.application(ofKey: header.applicationKey) else {
            throw .encryption("the application key is unknown")
        }
        guard let activation = bank.state.activations[header.activationID ?? ""],
            activation.applicationID == application.id, let device = activation.device, let keys = device.version4
        else { throw .encryption("there is no such activation") }
        guard admission.states.contains(activation.status) else {
            throw .encryption("the activation is \(activation.status.rawValue)")
        }
        guard device.admits(.version4, admission) else { throw .encryption("the activation is of version 3") }
        let recipient = Recipient(application: application, activation: (activation.id, keys), purpose: purpose)
        let envelope = try OpenedEnvelope(opening: context.json(), for: recipient, &bank, &context)
        return Call(application, activation, keys, type: nil, envelope: envelope, context)
    }

    /// A request with a token. The envelope comes first here, too; a header that names its keys once more is not needed.
    private static func receiveWithToken(
        _ endpoint: Endpoint,
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws -> Call {
        let use = try bank.verifyToken(&context)
        guard let keys = use.activation.device?.version4, let purpose = endpoint.encryption,
            let application = bank.state.applications[use.activation.applicationID]
        else { throw AuthenticationFailure(.token, "the token is of another version of the protocol") }
        if context.request.header(EncryptionHeader.name) != nil {
            let header = try Self.encryptionHeader(of: context, scope: .activation)
            guard header.applicationKey == application.key, header.activationID == use.activation.id else {
                throw Refusal.encryption("the headers name different keys")
            }
        }
        let recipient = Recipient(application: application, activation: (use.activation.id, keys), purpose: purpose)
        let envelope = try OpenedEnvelope(opening: context.json(), for: recipient, &bank, &context)
        bank.remember(use, at: context.now)
        return Call(application, use.activation, keys, type: nil, envelope: envelope, context)
    }

    static func encryptionHeader(
        of context: RequestContext,
        scope: EncryptionScope
    ) throws(Refusal) -> EncryptionHeader {
        guard let value = context.request.header(EncryptionHeader.name) else {
            throw .encryption("the header \(EncryptionHeader.name) is missing")
        }
        do {
            return try EncryptionHeader(parsing: value, scope: scope)
        } catch {
            throw .encryption(error.description)
        }
    }
}
