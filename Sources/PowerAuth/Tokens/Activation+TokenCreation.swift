import Basics
import Coordination
import HTTPClientTransport
import PowerAuthProtocol

/// Finding, creating and replacing tokens. A token is never replaced by one of fewer factors.
extension Activation {
    /// Returns the token that `demand` asks for, and makes it when there is none.
    func token(_ demand: TokenDemand) async throws -> ActivationRecord.Token {
        if let token = self.cachedToken(demand) { return token }
        let record = try await self.storedRecord()
        // A token that another process has renewed may be of another version.
        try self.adopt(record)
        // Another task may have created one, or the activation been removed, while the store was read.
        try self.checkNotRemoved()
        if let token = self.cachedToken(demand) { return token }
        if let token = record.tokens[demand.name], demand.accepts(token) {
            self.tokenCache[demand.name] = token
            return token
        }
        return try await self.createToken(demand, replacing: record.tokens[demand.name])
    }

    private func cachedToken(
        _ demand: TokenDemand,
        otherThan replaced: ActivationRecord.Token? = nil
    ) -> ActivationRecord.Token? {
        self.tokenCache[demand.name].flatMap { $0 != replaced && demand.accepts($0) ? $0 : nil }
    }

    /// Creates a token at the server, in place of `replaced` unless another has taken its place by then.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidName`` for a name that no token can have.
    func createToken(
        _ demand: TokenDemand,
        replacing replaced: ActivationRecord.Token?
    ) async throws -> ActivationRecord.Token {
        try NameRule.check(demand.name.string, of: "a token")
        guard let authentication = demand.authentication(for: demand.factors) else {
            throw MobileTokenError.tokenNeedsFactors
        }
        while true {
            let creation = self.tokenCreations[demand.name] ?? Coalescer()
            self.tokenCreations[demand.name] = creation
            let token = try await creation.run {
                try await self.fetchToken(demand, with: authentication, replacing: replaced)
            }
            // Another task's creation may have had other factors, or have been of the token that is to be replaced.
            if token != replaced, demand.accepts(token) { return token }
        }
    }

    private func fetchToken(
        _ demand: TokenDemand,
        with authentication: Authentication,
        replacing replaced: ActivationRecord.Token?
    ) async throws -> ActivationRecord.Token {
        // A creation that ended between the caller's look and this one's start left its token here.
        if let token = self.cachedToken(demand, otherThan: replaced) { return token }
        return try await self.send(with: authentication) { keys in
            try SignedRequest(EndpointRequest(.tokenCreate, in: keys.dialect.version), keys: keys)
        } receive: { response, _ in
            let token = try self.readToken(response, madeWith: SignatureType(authentication))
            guard token != replaced else {
                throw MobileTokenError.invalidResponse("The server handed out again the token that is to be replaced")
            }
            // Kept even when the caller no longer waits: the server has it now, and the next request can use it.
            let kept = try await self.updateRecord { $0.keep(token, as: demand.name, replacing: replaced) }
            await self.remember(kept, as: demand.name)
            return kept
        }
    }

    private nonisolated func readToken(
        _ response: ChannelResponse,
        madeWith factors: SignatureType
    ) throws -> ActivationRecord.Token {
        let dialect = self.dialect
        let path = try ServerEndpoint.tokenCreate.path(in: dialect.version)
        return try response.read { bytes in
            var token = try dialect.token(in: bytes, of: path)
            guard token.isUsable else {
                throw MobileTokenError.invalidResponse("The response to \(path) contains no token identifier")
            }
            token.factors = factors
            return token
        }
    }

    /// Returns the token that takes the place of one that the server refuses.
    ///
    /// - Returns: `nil` when only factors that are not at hand could make it.
    func replaceToken(
        refused: ActivationRecord.Token,
        for demand: TokenDemand
    ) async throws -> ActivationRecord.Token? {
        // Another task, or another process by way of the store, may have replaced it already.
        if let token = self.cachedToken(demand, otherThan: refused) { return token }
        let record = try await self.storedRecord()
        if let token = record.tokens[demand.name], token != refused, demand.accepts(token) {
            try self.adopt(record)  // it may be of another version
            self.tokenCache[demand.name] = token
            return token
        }
        guard let authentication = demand.authentication(for: refused.factors) else { return nil }
        // One that possession makes at any time is forgotten at once: should that fail now, nobody asks with it again.
        if refused.factors == .possession { try await self.forgetToken(demand.name, refused) }
        let renewal = TokenDemand(demand.name.string, refused.factors, with: authentication)
        return try await self.createToken(renewal, replacing: refused)
    }

    /// Forgets a token unless another one has taken its name.
    func forgetToken(_ name: ExactString, _ token: ActivationRecord.Token) async throws {
        if self.tokenCache[name] == token { self.tokenCache[name] = nil }
        try await self.updateRecord { record in
            if record.tokens[name] == token { record.tokens[name] = nil }
        }
    }

    private func remember(_ token: ActivationRecord.Token, as name: ExactString) {
        guard self.isPresent else { return }
        self.tokenCache[name] = token
    }
}

extension ActivationRecord {
    /// Keeps a new token under its name, unless one of more factors has come there meanwhile.
    ///
    /// - Returns: The token that has the name.
    fileprivate mutating func keep(_ token: Token, as name: ExactString, replacing replaced: Token?) -> Token {
        if let current = self.tokens[name], current != replaced, current.isUsable,
            current.factors.factors.count > token.factors.factors.count
        {
            return current
        }
        self.tokens[name] = token
        return token
    }
}
