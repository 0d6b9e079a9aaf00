import Basics
import EmulatorMessages
import MobileTokenCloud
import PowerAuthCrypto
import PowerAuthProtocol

/// A request with a valid signature or code.
struct AuthenticatedRequest {
    /// The activation after the request.
    let activation: ServerActivation
    let application: ServerApplication
    let code: RequestCode

    var type: SignatureType { self.code.type }
}

/// A token with a valid proof.
struct TokenUse {
    let activation: ServerActivation
    /// The factors of the token's creation.
    let factors: SignatureType
    /// The token's protocol version.
    let version: MajorVersion
}

extension Set<SignatureType> {
    /// Password or biometry, besides possession.
    static let twoFactors: Self = [.possessionKnowledge, .possessionBiometry]
    /// The types that standard endpoints accept by default.
    static let onlineFactors: Self = [.possession, .possessionKnowledge, .possessionBiometry]
}

extension Backend {
    /// Verifies a request's signature or code. A valid one moves the counter; an invalid one counts as a failure. A type that the
    /// endpoint does not accept is refused first, without effect.
    mutating func authenticate(
        _ context: inout RequestContext,
        _ demand: SignaturePolicy,
        covering cover: SignedPayload = SignedPayload(),
        dialect: AuthenticationDialect = .powerAuth
    ) throws(Refusal) -> AuthenticatedRequest {
        do {
            return try self.verify(try self.requestCode(of: &context), &context, demand, cover)
        } catch {
            throw dialect.refusal(error)
        }
    }

    /// Verifies a request's code before its endpoint reads the body: real servers refuse an unreadable body whatever the code.
    mutating func attempt(
        _ context: inout RequestContext,
        _ demand: SignaturePolicy,
        covering cover: SignedPayload = SignedPayload(),
        dialect: AuthenticationDialect = .powerAuth
    ) -> Result<AuthenticatedRequest, Refusal> {
        do throws(Refusal) {
            return .success(try self.authenticate(&context, demand, covering: cover, dialect: dialect))
        } catch {
            return .failure(error)
        }
    }

    /// Reads the header, and mentions the activation in the journal. An unreadable header does not count.
    func requestCode(of context: inout RequestContext) throws(AuthenticationFailure) -> RequestCode {
        let code = try Self.code(inHeaderOf: context)
        context.activationID = code.activationID
        if let steps = self.state.activations[code.activationID]?.device?.keys(of: code.version)?.steps {
            (context.counterBefore, context.counterAfter) = (steps, steps)
        }
        return code
    }

    static func code(inHeaderOf context: RequestContext) throws(AuthenticationFailure) -> RequestCode {
        try Self.read(RequestCode.headerName, of: context) { (version, fields) throws(HeaderError) in
            try version.requestCode(fields)
        }
    }

    /// Reads a header with the newest version that knows it.
    private static func read<Value>(
        _ name: String,
        of context: RequestContext,
        _ read: (any ServedVersion.Type, HeaderFields) throws(HeaderError) -> Value?
    ) throws(AuthenticationFailure) -> Value {
        guard let header = context.request.header(name) else {
            throw AuthenticationFailure("the header \(name) is missing", isOfHeader: true)
        }
        let fields = HeaderFields(parsing: header)
        do {
            for version in MajorVersion.allCases.reversed() {
                if let value = try read(version.rules, fields) { return value }
            }
        } catch {
            throw AuthenticationFailure(error.description, isOfHeader: true)
        }
        throw AuthenticationFailure("the header \(name) is of no version", isOfHeader: true)
    }

    mutating func verify(
        _ code: RequestCode,
        _ context: inout RequestContext,
        _ demand: SignaturePolicy,
        _ cover: SignedPayload = SignedPayload()
    ) throws(AuthenticationFailure) -> AuthenticatedRequest {
        try self.checkType(of: code, demand)
        guard let named = self.state.activations[code.activationID], named.device != nil else {
            throw AuthenticationFailure("there is no such activation")
        }
        // Real servers count this before they check the state, so it blocks an activation in any state.
        guard let application = self.application(ofKey: code.applicationKey), application.id == named.applicationID
        else {
            let reason = self.objection(toApplicationKey: code.applicationKey)
            throw self.countFailure(named.id, code.type, reason, &context)
        }
        let bytes = cover.plaintext ?? context.request.body
        guard !bytes.contains(0) else {
            throw AuthenticationFailure("the signed data have a NUL byte, which the audit of real servers cannot hold")
        }
        let activation = try self.activation(admittedBy: demand, for: code)
        guard let data = Self.signedData(of: context.request, bytes, uriID: demand.uriID, nonce: code.nonce) else {
            throw AuthenticationFailure("the query is malformed")
        }
        let toVerify = CodeToVerify(form: .online(code.bytes, application.secret), type: code.type, data: data)
        let accepted = try self.verify(toVerify, of: code, activation, demand, cover, &context)
        guard demand.version.map({ $0 == code.version }) ?? true else {
            throw AuthenticationFailure("the code is right, and of a version that this endpoint does not take")
        }
        return AuthenticatedRequest(activation: accepted, application: application, code: code)
    }

    /// Throws if the endpoint does not accept codes of this type.
    private func checkType(of code: RequestCode, _ demand: SignaturePolicy) throws(AuthenticationFailure) {
        guard !demand.types(in: self.profile).contains(code.type) else { return }
        let others = self.profile.releases { demand.types(in: $0).contains(code.type) }
        throw AuthenticationFailure("\(code.type.rawValue) is not what this resource asks for\(others)")
    }

    /// Returns the activation that a code names, if the endpoint admits it.
    func activation(
        admittedBy demand: SignaturePolicy,
        for code: RequestCode
    ) throws(AuthenticationFailure) -> ServerActivation {
        guard let activation = self.state.activations[code.activationID], let device = activation.device else {
            throw AuthenticationFailure("there is no such activation")
        }
        guard demand.admission.admits(activation) else {
            throw AuthenticationFailure("the activation is \(activation.status.rawValue)")
        }
        guard device.admits(code.version, demand.admission) else {
            throw AuthenticationFailure("the code is of another version of the protocol")
        }
        guard self.accepts(code.version) || demand.admission.belongsToUpgrade else {
            throw AuthenticationFailure("the server does not accept version \(code.versionName)")
        }
        return activation
    }

    /// Returns a request's signed data: its body, or for GET its query. Real servers decode the query as a whole, split it, and
    /// decode the parts again; anything that the second decoding changes cannot be signed.
    static func signedData(
        of request: ReceivedRequest,
        _ body: [UInt8],
        uriID: String,
        nonce: [UInt8]
    ) -> SignatureData? {
        guard request.method == "GET" else {
            return SignatureData(method: request.method, uriID: uriID, nonce: nonce, body: body)
        }
        guard let query = PercentEncoding.decodeForm(request.rawQuery.utf8) else { return nil }
        let decoded = String(decoding: query, as: UTF8.self)
        return try? SignatureData(method: request.method, uriID: uriID, nonce: nonce, query: decoded)
    }

    /// Applies a valid code's counter, or counts an invalid one.
    ///
    /// - Returns: The activation after a valid code.
    private mutating func verify(
        _ code: CodeToVerify,
        of request: RequestCode,
        _ activation: ServerActivation,
        _ demand: SignaturePolicy,
        _ cover: SignedPayload,
        _ context: inout RequestContext
    ) throws(AuthenticationFailure) -> ServerActivation {
        let version = request.version
        var verified = activation
        switch verified.verify(code, of: version, lookAhead: self.limits.lookAhead) {
        case .accepted:
            self.keep(verified, &context, version)
            context.inspect(code, of: activation, version)
            return verified
        case .refused:
            var diagnosis = activation.diagnosis(of: code, version, lookAhead: self.limits.lookAhead)
            let probe = SignatureProbe(
                code: code,
                uriID: demand.uriID,
                request: request,
                activation: activation,
                lookAhead: self.limits.lookAhead
            )
            let hint = self.hint(from: probe, isNear: diagnosis?.nearest != nil, cover, &context)
            diagnosis?.hint = hint
            context.inspect(code, of: activation, version, diagnosis)
            throw self.countFailure(activation.id, code.type, diagnosis?.reason ?? "the code is wrong", &context)
        case .notJudged(let reason):
            throw AuthenticationFailure(reason)
        }
    }

    /// Stores an activation after a valid code moved its counter.
    mutating func keep(_ activation: ServerActivation, _ context: inout RequestContext, _ version: MajorVersion) {
        let now = context.now
        self.state.activations.update(activation.id) {
            $0 = activation
            $0.noteUse(at: now)
        }
        context.counterAfter = activation.device?.keys(of: version)?.steps
    }

    mutating func countFailure(
        _ activationID: String,
        _ type: SignatureType,
        _ reason: String,
        _ context: inout RequestContext
    ) -> AuthenticationFailure {
        // Possession's failures are not counted, so there is nothing to store.
        let limits = self.limits
        if type != .possession {
            self.state.activations.update(activationID) { $0.fail(type, limits, at: context.now) }
        }
        guard let activation = self.state.activations[activationID] else { return AuthenticationFailure(reason) }
        if let deadline = activation.deadline { self.watch(deadline) }
        if type != .possession { context.report(activation) }
        guard activation.status == .blocked else { return AuthenticationFailure(reason) }
        return AuthenticationFailure("\(reason); it was the last attempt of the activation")
    }

    /// Verifies a request's token, without counting failures or moving the counter.
    ///
    /// - Parameters:
    ///   - types: The accepted code types of the token's creation.
    ///   - version: The version of the endpoint; `nil` for devices of every version.
    mutating func authenticateToken(
        _ context: inout RequestContext,
        of types: Set<SignatureType> = .onlineFactors,
        version: MajorVersion? = nil,
        dialect: AuthenticationDialect
    ) throws(Refusal) -> ServerActivation {
        do throws(AuthenticationFailure) {
            let use = try self.verifyToken(&context)
            guard types.contains(use.factors) else {
                throw AuthenticationFailure("a token made with \(use.factors.rawValue) is not what is asked for")
            }
            guard version.map({ $0 == use.version }) ?? true else {
                throw AuthenticationFailure("the token is right, and of a version that is not taken here")
            }
            return use.activation
        } catch {
            throw dialect.refusal(error)
        }
    }

    /// Verifies a request's token. Its nonce is consumed, even if the digest is invalid.
    mutating func verifyToken(_ context: inout RequestContext) throws(AuthenticationFailure) -> TokenUse {
        let shown = try Self.read(RequestToken.headerName, of: context) { (version, fields) throws(HeaderError) in
            try version.requestToken(fields)
        }
        guard let token = self.state.tokens[shown.tokenID] else {
            throw AuthenticationFailure("there is no such token")
        }
        context.activationID = token.activationID
        guard let activation = self.state.activations[token.activationID] else {
            throw AuthenticationFailure("there is no such activation")
        }
        guard activation.status == .active else {
            throw AuthenticationFailure("the activation is \(activation.status.rawValue)")
        }
        guard shown.version == token.version, token.version == activation.device?.version else {
            throw AuthenticationFailure("the token is of another version of the protocol")
        }
        guard self.accepts(token.version) else {
            throw AuthenticationFailure("the server does not accept version \(token.version.rawValue)")
        }
        let window = self.profile.tokenWindow(ofVersion: shown.versionName, self.limits)
        if let objection = window.objection(to: shown.timestamp, at: context.now) {
            let others = self.profile.releases {
                $0.tokenWindow(ofVersion: shown.versionName, self.limits).admits(shown.timestamp, at: context.now)
            }
            throw AuthenticationFailure(objection + others)
        }
        let use = "T" + token.id + Base64.encode(shown.nonce)
        guard !self.state.replays.contains(use, at: context.now) else {
            throw AuthenticationFailure("the request was sent before")
        }
        self.forbidReplay(of: use, until: window.end(of: shown.timestamp, at: context.now), at: context.now)
        guard shown.isMade(token.secret.secret) else {
            throw AuthenticationFailure("the token digest is wrong")
        }
        return TokenUse(activation: activation, factors: token.factors, version: token.version)
    }
}
