import EmulatorMessages
import PowerAuthCrypto
import PowerAuthProtocol

/// A request with a signature or a code that was right.
struct AuthenticatedRequest {
    /// As it is after the request.
    let activation: ServerActivation
    let application: ServerApplication
    let type: SignatureType
}

/// A token whose proof is right, and what tells this request from every other.
struct TokenUse {
    let activation: ServerActivation
    /// Those that the token was made with.
    let factors: SignatureType
    fileprivate let name: String
    fileprivate let expiration: Milliseconds
}

extension Set<SignatureType> {
    /// Password or biometry beside possession.
    static let twoFactors: Self = [.possessionKnowledge, .possessionBiometry]
    /// What the standard endpoints take, unless they are pickier.
    static let onlineFactors: Self = [.possession, .possessionKnowledge, .possessionBiometry]
}

extension Backend {
    /// Verifies the signature or the code of a request. It counts: the counter moves when it is right, failed attempts when
    /// it is wrong. Factors are judged afterwards, so that the client's counter and ours stay together.
    mutating func authenticate(
        _ context: inout RequestContext,
        _ demand: CodeDemand,
        dialect: AuthenticationDialect = .powerAuth
    ) throws(Refusal) -> AuthenticatedRequest {
        do {
            return try self.verify(try self.requestCode(of: &context), &context, demand)
        } catch {
            throw dialect.refusal(error)
        }
    }

    /// Reads the header, and names the activation to the journal. Nothing is counted for a header that cannot be read.
    func requestCode(of context: inout RequestContext) throws(AuthenticationFailure) -> RequestCode {
        let code = try Self.read(RequestCode.headerName, of: context) { (version, value) throws(HeaderError) in
            try version.requestCode(inHeader: value)
        }
        context.activationID = code.activationID
        if let steps = self.state.activations[code.activationID]?.device?.keys(of: code.version)?.steps {
            (context.counterBefore, context.counterAfter) = (steps, steps)
        }
        return code
    }

    /// Reads a header as the newest version does that knows it.
    private static func read<Value>(
        _ name: String,
        of context: RequestContext,
        _ read: (any ServedVersion.Type, String) throws(HeaderError) -> Value?
    ) throws(AuthenticationFailure) -> Value {
        guard let header = context.request.header(name) else {
            throw AuthenticationFailure(.missingHeader, "the header \(name) is missing")
        }
        do {
            for version in MajorVersion.allCases.reversed() {
                if let value = try read(version.rules, header) { return value }
            }
        } catch {
            throw AuthenticationFailure(.header, error.description)
        }
        throw AuthenticationFailure(.header, "the header \(name) is of no version")
    }

    mutating func verify(
        _ code: RequestCode,
        _ context: inout RequestContext,
        _ demand: CodeDemand
    ) throws(AuthenticationFailure) -> AuthenticatedRequest {
        let activation = try self.activation(admittedBy: demand, for: code)
        guard let application = self.application(ofKey: code.applicationKey),
            application.id == activation.applicationID
        else {
            throw self.countFailure(activation.id, code.type, "the application key is wrong", &context)
        }
        guard let data = Self.signedData(of: context.request, uriID: demand.uriID, nonce: code.nonce) else {
            throw AuthenticationFailure(.header, "the query is malformed")
        }
        let toVerify = CodeToVerify(form: .online(code.bytes, application.secret), type: code.type, data: data)
        let accepted = try self.verify(toVerify, of: code, activation, &context)
        guard demand.types.contains(code.type) else {
            throw AuthenticationFailure(.factors, "\(code.type.rawValue) is not what this resource asks for")
        }
        return AuthenticatedRequest(activation: accepted, application: application, type: code.type)
    }

    /// Returns the activation that a code names, if the endpoint admits it.
    func activation(
        admittedBy demand: CodeDemand,
        for code: RequestCode
    ) throws(AuthenticationFailure) -> ServerActivation {
        guard let activation = self.state.activations[code.activationID], let device = activation.device else {
            throw AuthenticationFailure(.code, "there is no such activation")
        }
        guard demand.admission.states.contains(activation.status) else {
            throw AuthenticationFailure(.code, "the activation is \(activation.status.rawValue)")
        }
        guard device.admits(code.version, demand.admission), demand.version.map({ $0 == code.version }) ?? true else {
            throw AuthenticationFailure(.code, "the code is of another version of the protocol")
        }
        guard self.protocolRules.accepts(code.version) || demand.admission.belongsToUpgrade else {
            throw AuthenticationFailure(.code, "the server no longer accepts version \(code.versionName)")
        }
        return activation
    }

    /// Requests with a body sign it, the others their query.
    private static func signedData(of request: ReceivedRequest, uriID: String, nonce: [UInt8]) -> SignatureData? {
        guard request.method == "GET" else {
            return SignatureData(method: request.method, uriID: uriID, nonce: nonce, body: request.body)
        }
        return try? SignatureData(method: request.method, uriID: uriID, nonce: nonce, query: request.rawQuery)
    }

    /// Takes over what a right code moved, and counts a wrong one.
    ///
    /// - Returns: The activation after a right code.
    private mutating func verify(
        _ code: CodeToVerify,
        of request: RequestCode,
        _ activation: ServerActivation,
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
            if diagnosis?.nearest == nil { diagnosis?.hint = self.hint(why: code, of: request, activation, context) }
            context.inspect(code, of: activation, version, diagnosis)
            throw self.countFailure(activation.id, code.type, diagnosis?.reason ?? "the code is wrong", &context)
        case .notJudged(let reason):
            throw AuthenticationFailure(.notJudged, reason)
        }
    }

    /// Returns what a wrong code would be right for: a client may have signed its data under another name.
    private func hint(
        why code: CodeToVerify,
        of request: RequestCode,
        _ activation: ServerActivation,
        _ context: RequestContext
    ) -> String? {
        let received = context.request
        func isRight(_ data: SignatureData?) -> Bool {
            guard let data, data != code.data else { return false }
            var trial = activation
            let other = CodeToVerify(form: code.form, type: code.type, data: data)
            if case .accepted = trial.verify(other, of: request.version, lookAhead: self.limits.lookAhead) {
                return true
            }
            return false
        }
        for uriID in RequestCode.uriIDs
        where isRight(Self.signedData(of: received, uriID: uriID, nonce: request.nonce)) {
            return "it is right for the URI identifier \(uriID)"
        }
        return nil
    }

    /// Takes over an activation whose counter a right code has moved.
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
        // Possession's own failures are not counted, so there is nothing to keep of them.
        let limits = self.limits
        if type != .possession {
            self.state.activations.update(activationID) { $0.fail(type, limits, at: context.now) }
        }
        guard let activation = self.state.activations[activationID] else { return AuthenticationFailure(.code, reason) }
        if let deadline = activation.deadline { self.watch(deadline) }
        if type != .possession { context.report(activation) }
        guard activation.status == .blocked else { return AuthenticationFailure(.code, reason) }
        return AuthenticationFailure(.code, "\(reason); it was the last attempt of the activation")
    }

    /// Verifies the token of a request. Nothing is counted, and the counter stays.
    mutating func authenticateToken(
        _ context: inout RequestContext,
        dialect: AuthenticationDialect
    ) throws(Refusal) -> ServerActivation {
        do {
            let use = try self.verifyToken(&context)
            self.remember(use, at: context.now)
            return use.activation
        } catch {
            throw dialect.refusal(error)
        }
    }

    /// Makes sure that this request is not accepted again.
    mutating func remember(_ use: TokenUse, at now: Milliseconds) {
        self.state.replays.insert(use.name, until: use.expiration, at: now)
    }

    /// Verifies the token of a request. Nothing is remembered before the request is accepted.
    func verifyToken(_ context: inout RequestContext) throws(AuthenticationFailure) -> TokenUse {
        let shown = try Self.read(RequestToken.headerName, of: context) { (version, value) throws(HeaderError) in
            try version.requestToken(inHeader: value)
        }
        guard let token = self.state.tokens[shown.tokenID] else {
            throw AuthenticationFailure(.token, "there is no such token")
        }
        context.activationID = token.activationID
        guard let activation = self.state.activations[token.activationID] else {
            throw AuthenticationFailure(.token, "there is no such activation")
        }
        guard activation.status == .active else {
            throw AuthenticationFailure(.token, "the activation is \(activation.status.rawValue)")
        }
        guard shown.version == token.version, token.version == activation.device?.version else {
            throw AuthenticationFailure(.token, "the token is of another version of the protocol")
        }
        guard self.protocolRules.accepts(token.version) else {
            throw AuthenticationFailure(.token, "the server no longer accepts version \(token.version.rawValue)")
        }
        let oldest = context.now - self.limits.tokenTimestampAge.inMilliseconds
        guard shown.timestamp >= oldest else { throw AuthenticationFailure(.token, "the timestamp is too old") }
        guard shown.timestamp <= context.now + self.limits.tokenTimestampAhead.inMilliseconds else {
            throw AuthenticationFailure(.token, "the timestamp is too far ahead")
        }
        guard shown.isMade(token.secret.secret) else {
            throw AuthenticationFailure(.token, "the token digest is wrong")
        }
        let use = "T" + token.id + Base64.encode(shown.nonce)
        guard !self.state.replays.contains(use, at: context.now) else {
            throw AuthenticationFailure(.token, "the request was sent before")
        }
        let expiration = shown.timestamp + self.limits.tokenTimestampAge.inMilliseconds
        return TokenUse(activation: activation, factors: token.factors, name: use, expiration: expiration)
    }
}
