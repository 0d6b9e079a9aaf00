import Basics
import CloudCalls
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

/// A token whose proof is right.
struct TokenUse {
    let activation: ServerActivation
    /// Those that the token was made with.
    let factors: SignatureType
    /// The version of the protocol that the token is of.
    let version: MajorVersion
}

extension Set<SignatureType> {
    /// Password or biometry beside possession.
    static let twoFactors: Self = [.possessionKnowledge, .possessionBiometry]
    /// The types that the standard endpoints take, unless they are pickier.
    static let onlineFactors: Self = [.possession, .possessionKnowledge, .possessionBiometry]
}

extension Backend {
    /// Verifies the signature or the code of a request. It counts: the counter moves when it is right, failed attempts when
    /// it is wrong. A type that the endpoint does not take is refused before, and nothing moves.
    mutating func authenticate(
        _ context: inout RequestContext,
        _ demand: CodeDemand,
        covering cover: CodeCover = CodeCover(),
        dialect: AuthenticationDialect = .powerAuth
    ) throws(Refusal) -> AuthenticatedRequest {
        do {
            return try self.verify(try self.requestCode(of: &context), &context, demand, cover)
        } catch {
            throw dialect.refusal(error, self.profile)
        }
    }

    /// The refusal of a request that is not authenticated, in the words of `/pa`.
    func refusal(_ failure: AuthenticationFailure) -> Refusal {
        AuthenticationDialect.powerAuth.refusal(failure, self.profile)
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
            throw AuthenticationFailure(.header, "the header \(name) is missing")
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
        _ demand: CodeDemand,
        _ cover: CodeCover = CodeCover()
    ) throws(AuthenticationFailure) -> AuthenticatedRequest {
        try self.checkType(of: code, demand)
        let activation = try self.activation(admittedBy: demand, for: code)
        guard let application = self.application(ofKey: code.applicationKey),
            application.id == activation.applicationID
        else {
            throw self.countFailure(activation.id, code.type, "the application key is wrong", &context)
        }
        let bytes = cover.plaintext ?? context.request.body
        guard let data = Self.signedData(of: context.request, bytes, uriID: demand.uriID, nonce: code.nonce) else {
            throw AuthenticationFailure("the query is malformed")
        }
        let toVerify = CodeToVerify(form: .online(code.bytes, application.secret), type: code.type, data: data)
        let accepted = try self.verify(toVerify, of: code, activation, demand, cover, &context)
        guard demand.version.map({ $0 == code.version }) ?? true else {
            throw AuthenticationFailure(
                .request,
                "the code is right, and of a version that this endpoint does not take"
            )
        }
        return AuthenticatedRequest(activation: accepted, application: application, type: code.type)
    }

    /// Throws when the endpoint does not take codes of this type.
    private func checkType(of code: RequestCode, _ demand: CodeDemand) throws(AuthenticationFailure) {
        guard !demand.types(in: self.profile).contains(code.type) else { return }
        let others = self.profile.releases { demand.types(in: $0).contains(code.type) }
        throw AuthenticationFailure(
            demand.namesWrongType ? .type : .invalid,
            "\(code.type.rawValue) is not what this resource asks for\(others)"
        )
    }

    /// Returns the activation that a code names, if the endpoint admits it.
    func activation(
        admittedBy demand: CodeDemand,
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

    /// Returns the data that a request signs: its body or, of GET, its query, which real servers decode as a whole before they
    /// take it apart and decode the parts. Whatever changes by the second decoding cannot be signed.
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

    /// Takes over what a right code moved, and counts a wrong one.
    ///
    /// - Returns: The activation after a right code.
    private mutating func verify(
        _ code: CodeToVerify,
        of request: RequestCode,
        _ activation: ServerActivation,
        _ demand: CodeDemand,
        _ cover: CodeCover,
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
            let trial = CodeTrial(
                code: code,
                uriID: demand.uriID,
                request: request,
                activation: activation,
                lookAhead: self.limits.lookAhead
            )
            let hint = self.hint(from: trial, isNear: diagnosis?.nearest != nil, cover, &context)
            diagnosis?.hint = hint
            context.inspect(code, of: activation, version, diagnosis)
            throw self.countFailure(activation.id, code.type, diagnosis?.reason ?? "the code is wrong", &context)
        case .notJudged(let reason):
            throw AuthenticationFailure(reason)
        }
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
        guard let activation = self.state.activations[activationID] else { return AuthenticationFailure(reason) }
        if let deadline = activation.deadline { self.watch(deadline) }
        if type != .possession { context.report(activation) }
        guard activation.status == .blocked else { return AuthenticationFailure(reason) }
        return AuthenticationFailure("\(reason); it was the last attempt of the activation")
    }

    /// Verifies the token of a request. Nothing is counted, and the counter stays.
    ///
    /// - Parameters:
    ///   - types: The types of the code that the token may have been made with.
    ///   - version: The version of the endpoint; `nil` for one that devices of every version call.
    mutating func authenticateToken(
        _ context: inout RequestContext,
        of types: Set<SignatureType> = .onlineFactors,
        version: MajorVersion? = nil,
        dialect: AuthenticationDialect
    ) throws(Refusal) -> ServerActivation {
        do throws(AuthenticationFailure) {
            let use = try self.verifyToken(&context)
            guard CodeDemand.types(types, in: self.profile).contains(use.factors) else {
                throw AuthenticationFailure("a token made with \(use.factors.rawValue) is not what is asked for")
            }
            guard version.map({ $0 == use.version }) ?? true else {
                throw AuthenticationFailure(.request, "the token is right, and of a version that is not taken here")
            }
            return use.activation
        } catch {
            throw dialect.refusal(error, self.profile)
        }
    }

    /// Verifies the token of a request. Its nonce is used up by that, even when the digest is wrong.
    mutating func verifyToken(_ context: inout RequestContext) throws(AuthenticationFailure) -> TokenUse {
        let shown = try Self.read(RequestToken.headerName, of: context) { (version, value) throws(HeaderError) in
            try version.requestToken(inHeader: value)
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
