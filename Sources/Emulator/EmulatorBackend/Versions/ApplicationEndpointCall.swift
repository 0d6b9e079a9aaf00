import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The requirements of an annotated endpoint: all of an application's own endpoints, and some standard ones.
///
/// Such an endpoint's envelope is opened first, and the code covers its content. If it does not open, the code is verified over
/// the encrypted body; a device that signed the content is refused, which counts.
struct ApplicationEndpointPolicy {
    /// The required proof.
    enum Proof {
        /// Only the envelope. If it does not open, the endpoint makes the refusal from the reason.
        case envelope(refusal: @Sendable (String) -> Refusal)
        case code(SignaturePolicy)
        /// A token with one of these factor sets.
        case token(Set<SignatureType>)
    }

    let proof: Proof
    var scope = EnvelopeScope.activation
    /// The version; `nil` for devices of every version.
    var version: MajorVersion?
    var admission = Admission()
    /// The allowed members of the content; `nil` if it is ignored, and may be any JSON.
    var members: Set<String>?
    /// The allowed members of its `requestObject`; `nil` for any.
    var wrappedMembers: Set<String>?
}

/// A request to an annotated endpoint with the required proof.
struct ApplicationEndpointCall {
    /// The application; `nil` if unknown.
    let application: ServerApplication?
    /// The activation; `nil` in application scope.
    let activation: ServerActivation?
    /// The content; `nil` if no envelope was opened, which gets an empty response, or it is no object.
    let content: JSONObject?
    fileprivate let body: OpenedBody?

    /// Indicates whether the envelope's content was empty or `null`: real servers have no request then.
    var isEmpty: Bool {
        guard let plaintext = self.body?.plaintext, !plaintext.isEmpty else { return true }
        return (try? JSONValue(reading: plaintext).isNull) ?? false
    }
}

extension Backend {
    mutating func receive(
        _ context: inout RequestContext,
        _ demand: ApplicationEndpointPolicy
    ) throws(Refusal) -> ApplicationEndpointCall {
        switch demand.proof {
        case .envelope(let refusal):
            return try self.receive(&context, demand, refusing: refusal)
        case .code(let code):
            return try self.receive(&context, demand, code)
        case .token(let types):
            return try self.receive(&context, demand, withTokenOf: types)
        }
    }

    /// Encrypts an annotated endpoint's response; it is empty if the request was not opened.
    mutating func respond(
        _ content: JSONValue,
        to call: ApplicationEndpointCall,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        guard let body = call.body else {
            return ServerResponse(status: 200, headers: ServerResponse.jsonHeaders, body: .bytes([]))
        }
        return .json(try self.seal(content, in: body, &context))
    }

    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: ApplicationEndpointPolicy,
        refusing refusal: (String) -> Refusal
    ) throws(Refusal) -> ApplicationEndpointCall {
        let addressee: Addressee
        let opened: (body: OpenedBody, content: JSONObject?)
        do throws(Refusal) {
            addressee = try Addressee(opening: context, demand.scope)
            opened = try self.open(&context, addressee, demand)
        } catch {
            throw refusal(error.reason)
        }
        guard demand.version.map({ $0 == MajorVersion(name: addressee.versionName) }) ?? true else {
            throw .authentication("the envelope is of a version that is not taken here")
        }
        return ApplicationEndpointCall(
            application: self.application(ofKey: addressee.applicationKey),
            activation: addressee.activationID.flatMap { self.state.activations[$0] },
            content: opened.content,
            body: opened.body
        )
    }

    /// Receives a request with a code, whose header also names the envelope's recipient.
    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: ApplicationEndpointPolicy,
        _ codeDemand: SignaturePolicy
    ) throws(Refusal) -> ApplicationEndpointCall {
        var objection: Refusal?
        var opened: (body: OpenedBody, content: JSONObject?)?
        let request: AuthenticatedRequest
        do throws(AuthenticationFailure) {
            let code = try self.requestCode(of: &context)
            do throws(Refusal) {
                opened = try self.open(&context, Addressee(code, demand.scope), demand)
            } catch {
                objection = error
                context.inspection.noteUnopened(because: error.reason)
            }
            let cover = SignedPayload(plaintext: opened?.body.plaintext)
            request = try self.verify(code, &context, codeDemand, cover)
        } catch {
            var failure = error
            if let objection {
                failure.reason =
                    "the envelope was not opened (\(objection.reason)), and the body as it was sent has not the code: "
                    + failure.reason
            }
            throw .authentication(failure.reason)
        }
        return ApplicationEndpointCall(
            application: request.application,
            activation: request.activation,
            content: opened?.content,
            body: opened?.body
        )
    }

    /// Receives a request with a token. Without an encryption header, nothing is opened.
    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: ApplicationEndpointPolicy,
        withTokenOf types: Set<SignatureType>
    ) throws(Refusal) -> ApplicationEndpointCall {
        var opened: (body: OpenedBody, content: JSONObject?)?
        do throws(Refusal) {
            opened = try self.open(&context, Addressee(opening: context, demand.scope), demand)
        } catch {
            context.inspection.noteUnopened(because: error.reason)
        }
        let activation = try self.authenticateToken(&context, of: types, version: demand.version, dialect: .powerAuth)
        // Like a real server, this one does not compare the token's activation with the envelope's.
        return ApplicationEndpointCall(
            application: self.state.applications[activation.applicationID],
            activation: activation,
            content: opened?.content,
            body: opened?.body
        )
    }

    /// Opens an envelope with the form that the endpoint reads. Any other counts as closed.
    private mutating func open(
        _ context: inout RequestContext,
        _ addressee: Addressee,
        _ demand: ApplicationEndpointPolicy
    ) throws(Refusal) -> (body: OpenedBody, content: JSONObject?) {
        let body = try self.open(&context, for: addressee, demand.admission)
        guard let members = demand.members else {
            return (body, body.plaintext.isEmpty ? [:] : try JSONValue(reading: body.plaintext).object)
        }
        let content = try JSONObject(plaintext: body.plaintext)
        try content.refuseMembers(except: members)
        if let members = demand.wrappedMembers {
            try content.optionalObject("requestObject")?.refuseMembers(except: members)
        }
        return (body, content)
    }
}

extension JSONObject {
    /// Reads an envelope's content; an empty one and `null` are an empty object.
    init(plaintext: [UInt8]) throws(Refusal) {
        let value = plaintext.isEmpty ? .null : try JSONValue(reading: plaintext)
        guard let object = value.isNull ? [:] : value.object else {
            throw .invalidRequest("The decrypted body is not a JSON object")
        }
        self = object
    }

    /// Refuses members that a real server's reader does not know. Servers up to 2.1 do; for 2.2 it is unknown, and this server
    /// refuses them in every profile, so that a client that sends some notices it here.
    func refuseMembers(except known: Set<String>) throws(Refusal) {
        guard let unknown = self.keys.first(where: { !known.contains($0) }) else { return }
        throw .invalidRequest("'\(unknown)' is a member that real servers refuse here")
    }
}

extension JSONValue {
    /// Returns the object in which some endpoints wrap their content inside the envelope too.
    static func wrapped(_ content: JSONValue) -> Self { ["status": "OK", "responseObject": content] }
}
