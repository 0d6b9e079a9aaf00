import EmulatorMessages
import PowerAuthCrypto
import PowerAuthProtocol

/// A signature that was valid, and what it was for.
struct AuthenticatedSignature {
    /// As it is after the signature.
    let activation: ServerActivation
    let application: ServerApplication
    let type: SignatureType
    let version: ProtocolVersion
}

extension Set<SignatureType> {
    /// Password or biometry beside possession.
    static let twoFactors: Self = [.possessionKnowledge, .possessionBiometry]
    /// What the standard endpoints take, unless they are pickier.
    static let onlineFactors: Self = [.possession, .possessionKnowledge, .possessionBiometry]
    /// What the endpoint takes that only verifies signatures.
    static let validatedFactors: Self = [
        .possession, .possessionKnowledge, .possessionBiometry, .possessionKnowledgeBiometry,
    ]
    /// What opens the vault.
    static let vaultFactors: Self = [.possessionKnowledge, .possessionKnowledgeBiometry]
}

extension Backend {
    /// Verifies the signature of a request. It counts: the counter moves when the signature is right, failed attempts
    /// when it is wrong. Factors are judged after the signature, so that the client's counter and ours stay together.
    mutating func authenticateSignature(
        _ context: inout RequestContext,
        uriID: String,
        allowing types: Set<SignatureType>,
        dialect: AuthenticationDialect = .powerAuth
    ) throws(Refusal) -> AuthenticatedSignature {
        do {
            let header = try self.signatureHeader(of: &context)
            return try self.verify(header, &context, uriID: uriID, allowing: types)
        } catch {
            throw dialect.refusal(error)
        }
    }

    /// Reads the header, and names the activation to the journal. Nothing is counted for a header that cannot be read.
    func signatureHeader(of context: inout RequestContext) throws(AuthenticationFailure) -> SignatureHeader {
        guard let value = context.request.header(SignatureHeader.name) else {
            throw AuthenticationFailure(.missingHeader, "the header \(SignatureHeader.name) is missing")
        }
        let header: SignatureHeader
        do {
            header = try SignatureHeader(parsing: value)
        } catch {
            throw AuthenticationFailure(.header, error.description)
        }
        context.activationID = header.activationID
        if let steps = self.state.activations[header.activationID]?.device?.steps {
            (context.counterBefore, context.counterAfter) = (steps, steps)
        }
        return header
    }

    mutating func verify(
        _ header: SignatureHeader,
        _ context: inout RequestContext,
        uriID: String,
        allowing types: Set<SignatureType>
    ) throws(AuthenticationFailure) -> AuthenticatedSignature {
        guard let activation = self.state.activations[header.activationID], let device = activation.device else {
            throw AuthenticationFailure(.code, "there is no such activation")
        }
        guard activation.status == .active else {
            throw AuthenticationFailure(.code, "the activation is \(activation.status.rawValue)")
        }
        guard let application = self.application(ofKey: header.applicationKey),
            application.id == activation.applicationID
        else {
            throw self.countFailure(activation.id, header.type, "the application key is wrong", &context)
        }
        guard let data = Self.signedData(of: context.request, uriID: uriID, nonce: header.nonce) else {
            throw AuthenticationFailure(.header, "the query is malformed")
        }
        let verifier = SignatureVerifier(
            data,
            keys: device.keys.keys(for: header.type),
            secret: .online(application.secret)
        )
        guard
            let match = verifier.match(
                online: header.signature,
                counter: device.counter,
                lookAhead: self.limits.lookAhead
            )
        else {
            throw self.countFailure(activation.id, header.type, "the signature is wrong", &context)
        }
        let accepted = self.accept(match, activation.id, header.type, &context) ?? activation
        guard types.contains(header.type) else {
            throw AuthenticationFailure(.factors, "\(header.type.rawValue) is not what this resource asks for")
        }
        return AuthenticatedSignature(
            activation: accepted,
            application: application,
            type: header.type,
            version: header.version
        )
    }

    /// Requests with a body sign it, the others their query.
    private static func signedData(of request: ReceivedRequest, uriID: String, nonce: [UInt8]) -> SignatureData? {
        guard request.method == "GET" else {
            return SignatureData(method: request.method, uriID: uriID, nonce: nonce, body: request.body)
        }
        return try? SignatureData(method: request.method, uriID: uriID, nonce: nonce, query: request.rawQuery)
    }

    /// Takes over the counter of a right signature.
    mutating func accept(
        _ match: SignatureVerifier.Match,
        _ activationID: String,
        _ type: SignatureType,
        _ context: inout RequestContext
    ) -> ServerActivation? {
        self.state.activations.update(activationID) { $0.succeed(match, type) }
        let accepted = self.state.activations[activationID]
        context.counterAfter = accepted?.device?.steps
        return accepted
    }

    mutating func countFailure(
        _ activationID: String,
        _ type: SignatureType,
        _ reason: String,
        _ context: inout RequestContext
    ) -> AuthenticationFailure {
        // Possession's own failures are not counted, so there is nothing to keep of them.
        if type != .possession { self.state.activations.update(activationID) { $0.fail(type) } }
        guard let activation = self.state.activations[activationID] else { return AuthenticationFailure(.code, reason) }
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
            return try self.verifyToken(&context)
        } catch {
            throw dialect.refusal(error)
        }
    }

    private mutating func verifyToken(_ context: inout RequestContext) throws(AuthenticationFailure) -> ServerActivation
    {
        guard let value = context.request.header(TokenHeader.name) else {
            throw AuthenticationFailure(.missingHeader, "the header \(TokenHeader.name) is missing")
        }
        let header: TokenHeader
        do {
            header = try TokenHeader(parsing: value)
        } catch {
            throw AuthenticationFailure(.header, error.description)
        }
        guard let token = self.state.tokens[header.tokenID] else {
            throw AuthenticationFailure(.token, "there is no such token")
        }
        context.activationID = token.activationID
        guard let activation = self.state.activations[token.activationID] else {
            throw AuthenticationFailure(.token, "there is no such activation")
        }
        guard activation.status == .active else {
            throw AuthenticationFailure(.token, "the activation is \(activation.status.rawValue)")
        }
        let oldest = context.now - self.limits.tokenTimestampAge.inMilliseconds
        guard header.timestamp >= oldest else { throw AuthenticationFailure(.token, "the timestamp is too old") }
        guard header.timestamp <= context.now + self.limits.tokenTimestampAhead.inMilliseconds else {
            throw AuthenticationFailure(.token, "the timestamp is too far ahead")
        }
        guard header.isValid(secret: token.secret.secret) else {
            throw AuthenticationFailure(.token, "the token digest is wrong")
        }
        let use = "T" + token.id + Base64.encode(header.nonce)
        guard !self.state.replays.contains(use, at: context.now) else {
            throw AuthenticationFailure(.token, "the request was sent before")
        }
        let expiration = header.timestamp + self.limits.tokenTimestampAge.inMilliseconds
        self.state.replays.insert(use, until: expiration, at: context.now)
        return activation
    }
}

extension ServerActivation {
    /// Throws when the user of the device is still being verified: such a device carries a flag and decides nothing.
    func requireVerifiedUser() throws(Refusal) {
        let flags = ["VERIFICATION_PENDING", "VERIFICATION_IN_PROGRESS"]
        if let flag = flags.first(where: self.flags.contains) {
            throw .invalidActivation("the activation has the flag \(flag)")
        }
    }
}
