import APIDescriptions
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

extension Version4 {
    /// An activation's opened and authenticated request.
    struct Call {
        let application: ServerApplication
        /// The activation after the authentication.
        let activation: ServerActivation
        /// The version 4 keys, including those of an unconfirmed upgrade.
        let keys: Keys
        let type: SignatureType
        fileprivate let envelope: OpenedEnvelope?
        fileprivate let context: RequestContext

        /// Returns the parameters: the decrypted object, or the `requestObject` of an unencrypted body.
        func parameters() throws(Refusal) -> JSONObject {
            if let envelope = self.envelope { return try envelope.content() }
            guard let object = try self.context.json().optionalObject("requestObject") else {
                throw .validation("requestObject: must not be null")
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

// MARK: - Routes

extension Backend.Route {
    /// Handles an activation's authenticated request to a version 4 endpoint, and returns the response's content.
    typealias CallHandler =
        @Sendable (_ bank: inout Backend, _ call: Version4.Call, _ context: inout RequestContext) throws(Refusal)
        -> JSONValue?

    /// Creates the route of an endpoint for activations' devices.
    ///
    /// - Parameters:
    ///   - body: The request's body, unless bodies are encrypted.
    ///   - response: The form of the response, unless bodies are encrypted.
    ///   - refusal: Makes the refusal of an envelope that does not open.
    static func version4(
        _ endpoint: Version4.Endpoint,
        method: String = "POST",
        admission: Admission = Admission(),
        adds addition: Backend.Addition = .nothing,
        _ summary: String,
        takes body: RouteDescription.Body? = .optional(.anyRequest),
        gives response: Schema = .done,
        refusing refusal: @escaping @Sendable (String) -> Refusal = Refusal.encryption,
        _ perform: @escaping CallHandler
    ) -> Self {
        .device(
            "\(method) \(endpoint.path)",
            adds: addition,
            summary,
            shows: endpoint.access,
            takes: endpoint.encryption == nil ? body : .required(.envelope4),
            gives: endpoint.encryption == nil ? response : .sealed4
        ) { (bank, context) throws(Refusal) in
            try Version4.call(endpoint, admission, &bank, &context, refusing: refusal, perform)
        }
    }
}

extension Version4.Endpoint {
    fileprivate var access: RouteDescription.Access {
        switch self.authentication {
        case .none: .open
        case .code, .version3Code: .code
        }
    }
}

// MARK: - Receiving

extension Version4 {
    /// Receives a request, handles it, and responds.
    static func call(
        _ endpoint: Endpoint,
        _ admission: Admission,
        _ bank: inout Backend,
        _ context: inout RequestContext,
        refusing refusal: (String) -> Refusal,
        _ perform: Backend.Route.CallHandler
    ) throws(Refusal) -> ServerResponse {
        let call = try Self.receive(endpoint, admission, &bank, &context, refusing: refusal)
        let content = try perform(&bank, call, &context)
        return try call.response(content, &context)
    }

    /// Receives a request to a standard endpoint with a code for its own purpose. The code is verified before the envelope is
    /// opened, so a damaged one costs a counter step.
    fileprivate static func receive(
        _ endpoint: Endpoint,
        _ admission: Admission,
        _ bank: inout Backend,
        _ context: inout RequestContext,
        refusing refusal: (String) -> Refusal
    ) throws(Refusal) -> Call {
        let demand = try Self.demand(endpoint, admission, bank, context)
        let code: RequestCode
        do {
            code = try bank.requestCode(of: &context)
        } catch {
            // This endpoint's controller reads the header itself.
            throw endpoint == .upgradeConfirm ? .upgrade(error.reason) : .authentication(error.reason)
        }
        var cover = SignedPayload()
        if let purpose = endpoint.encryption {
            cover.peek = { bank, context in (try? Self.open(for: code, purpose, bank, &context))?.plaintext }
        }
        let outcome = bank.attempt(&context, demand, covering: cover)
        if endpoint.encryption != nil { _ = try context.json() }
        let request = try outcome.get()
        guard let keys = request.activation.device?.version4 else { throw .encryption("there are no keys") }
        var envelope: OpenedEnvelope?
        if let purpose = endpoint.encryption {
            try context.checkEnvelope(of: code.versionName)
            do throws(Refusal) {
                let opened = try Self.open(for: code, purpose, bank, &context)
                bank.remember(opened, at: context.now)
                envelope = opened
            } catch {
                throw refusal(error.reason)
            }
        }
        return Call(
            application: request.application,
            activation: request.activation,
            keys: keys,
            type: request.type,
            envelope: envelope,
            context: context
        )
    }

    private static func demand(
        _ endpoint: Endpoint,
        _ admission: Admission,
        _ bank: Backend,
        _ context: RequestContext
    ) throws(Refusal) -> SignaturePolicy {
        guard case .code(let uriID, let types) = endpoint.authentication else {
            throw .encryption("the endpoint takes no code of version 4")
        }
        var demand = SignaturePolicy(
            uriID: uriID,
            types: Set(types.compactMap { SignatureType(rawValue: $0.rawValue) }),
            version: .version4,
            admission: admission
        )
        if endpoint == .activationRemove { try demand.admitRemoval(bank, context) }
        return demand
    }

    /// Opens the envelope of a request with a code, whose header names the recipient. Consumes nothing.
    static func open(
        for code: RequestCode,
        _ purpose: EncryptionPurpose,
        _ bank: Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> OpenedEnvelope {
        guard code.version == .version4, let activation = bank.state.activations[code.activationID],
            activation.status == .active, let keys = activation.device?.version4,
            let application = bank.application(ofKey: code.applicationKey), application.id == activation.applicationID
        else { throw .encryption("the header of the code names nobody who could have sent it") }
        let recipient = Recipient(application: application, activation: (activation.id, keys), purpose: purpose)
        return try bank.open(try context.json(), recipient, &context)
    }
}
