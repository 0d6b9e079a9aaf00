import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The demand of an annotated endpoint, which all are that an application adds, and some of the standard ones.
///
/// Before such an endpoint sees a request, the envelope is opened; the code covers what was found in it. An envelope that
/// does not open is no end: the code is then judged over the body as it was sent, and a device that signed the content is
/// refused, which counts.
struct AnnotatedDemand {
    /// The proof that a request must show.
    enum Proof {
        /// None but the envelope itself. One that does not open gets the refusal that the endpoint makes of the reason.
        case envelope(refusal: @Sendable (String) -> Refusal)
        case code(CodeDemand)
        /// A token that was made with one of these.
        case token(Set<SignatureType>)
    }

    let proof: Proof
    var scope = EncryptionScope.activation
    /// `nil` for an endpoint that devices of every version call.
    var version: MajorVersion?
    var admission = Admission()
    /// The members that the content may have; `nil` for any.
    var members: Set<String>?
    /// Returns whether the content, `nil` when nothing was opened, has what the endpoint needs. A request that lacks it is refused for
    /// that even where the code is wrong, which counts all the same.
    var isComplete: @Sendable (_ content: JSONObject?) -> Bool = { _ in true }
}

/// A request to an annotated endpoint that has shown the proof that was asked for.
struct AnnotatedCall {
    /// `nil` when nothing says which.
    let application: ServerApplication?
    /// `nil` in the scope of an application.
    let activation: ServerActivation?
    /// `nil` when no envelope was opened. The endpoint then knows nothing of the request, and its response is empty.
    let content: JSONObject?
    fileprivate let body: OpenedBody?
}

extension Backend {
    /// Receives a request to an annotated endpoint.
    mutating func receive(
        _ context: inout RequestContext,
        _ demand: AnnotatedDemand
    ) throws(Refusal) -> AnnotatedCall {
        switch demand.proof {
        case .envelope(let refusal):
            return try self.receive(&context, demand, refusing: refusal)
        case .code(let code):
            return try self.receive(&context, demand, code)
        case .token(let types):
            return try self.receive(&context, demand, withTokenOf: types)
        }
    }

    /// Encrypts the response of an annotated endpoint; it is empty for a request that was not opened.
    mutating func respond(
        _ content: JSONValue,
        to call: AnnotatedCall,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        guard let body = call.body else {
            return ServerResponse(status: 200, headers: ServerResponse.jsonHeaders, body: .bytes([]))
        }
        return .json(try self.seal(content, in: body, &context))
    }

    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: AnnotatedDemand,
        refusing refusal: (String) -> Refusal
    ) throws(Refusal) -> AnnotatedCall {
        let addressee: Addressee
        let opened: (body: OpenedBody, content: JSONObject)
        do throws(Refusal) {
            addressee = try Addressee(context, demand.scope)
            opened = try self.open(&context, addressee, demand)
        } catch {
            throw refusal(error.reason)
        }
        guard demand.version.map({ $0 == MajorVersion(name: addressee.versionName) }) ?? true else {
            throw .requestInvalid("the envelope is of a version that is not taken here")
        }
        return AnnotatedCall(
            application: self.application(ofKey: addressee.applicationKey),
            activation: addressee.activationID.flatMap { self.state.activations[$0] },
            content: opened.content,
            body: opened.body
        )
    }

    /// With a code, whose header tells for whom the envelope is, too.
    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: AnnotatedDemand,
        _ codeDemand: CodeDemand
    ) throws(Refusal) -> AnnotatedCall {
        var objection: Refusal?
        var opened: (body: OpenedBody, content: JSONObject)?
        let request: AuthenticatedRequest
        do throws(AuthenticationFailure) {
            let code = try self.requestCode(of: &context)
            do throws(Refusal) {
                opened = try self.open(&context, Addressee(code, demand.scope), demand)
            } catch {
                objection = error
                context.inspection.noteUnopened(because: error.reason)
            }
            let cover = CodeCover(plaintext: opened?.body.plaintext)
            request = try self.verify(code, &context, codeDemand, cover)
        } catch {
            var failure = error
            if !demand.isComplete(opened?.content) { failure.kind = .request }
            if let objection {
                failure.reason =
                    "the envelope was not opened (\(objection.reason)), and the body as it was sent has not the code: "
                    + failure.reason
            }
            throw self.refusal(failure)
        }
        return AnnotatedCall(
            application: request.application,
            activation: request.activation,
            content: opened?.content,
            body: opened?.body
        )
    }

    /// With a token. Without an encryption header beside it, nothing is opened.
    private mutating func receive(
        _ context: inout RequestContext,
        _ demand: AnnotatedDemand,
        withTokenOf types: Set<SignatureType>
    ) throws(Refusal) -> AnnotatedCall {
        var opened: (body: OpenedBody, content: JSONObject)?
        var addressee: Addressee?
        do throws(Refusal) {
            let named = try Addressee(context, demand.scope)
            opened = try self.open(&context, named, demand)
            addressee = named
        } catch {
            context.inspection.noteUnopened(because: error.reason)
        }
        let activation = try self.authenticateToken(&context, of: types, version: demand.version, dialect: .powerAuth)
        // A real server does not compare the two. Nobody but the owner of both could make such a request.
        if let id = addressee?.activationID, id != activation.id {
            throw self.refusal(AuthenticationFailure("token and envelope are of different activations"))
        }
        return AnnotatedCall(
            application: self.state.applications[activation.applicationID],
            activation: activation,
            content: opened?.content,
            body: opened?.body
        )
    }

    /// Opens an envelope whose content is of the form that the endpoint reads. Any other is as good as closed.
    private mutating func open(
        _ context: inout RequestContext,
        _ addressee: Addressee,
        _ demand: AnnotatedDemand
    ) throws(Refusal) -> (body: OpenedBody, content: JSONObject) {
        let body = try self.open(&context, for: addressee, demand.admission)
        let content = try JSONObject(plaintext: body.plaintext)
        if let members = demand.members { try content.refuseMembers(except: members) }
        return (body, content)
    }
}

extension JSONObject {
    /// Reads what was found in an envelope; nothing is an empty object.
    init(plaintext: [UInt8]) throws(Refusal) {
        guard !plaintext.isEmpty else {
            self = [:]
            return
        }
        let limits = JSONLimits(maximumDepth: 64)
        guard let object = (try? JSONValue(parsing: plaintext, limits: limits))?.object else {
            throw .invalidRequest("The decrypted body is not a JSON object")
        }
        self = object
    }

    /// Refuses members that the reader of a real server does not know. Servers up to 2.1 do; of 2.2 it is not known, and
    /// this one refuses them in every profile, so that a client that sends some notices it here.
    func refuseMembers(except known: Set<String>) throws(Refusal) {
        guard let unknown = self.keys.first(where: { !known.contains($0) }) else { return }
        throw .invalidRequest("'\(unknown)' is a member that real servers refuse here")
    }
}

extension JSONValue {
    /// Returns the object in which some endpoints wrap what they respond inside of the envelope, too.
    static func wrapped(_ content: JSONValue) -> Self { ["status": "OK", "responseObject": content] }
}
