import Basics
import Coordination
import PowerAuthProtocol

/// Finding, creating and replacing tokens. A token is never replaced by one with fewer factors.
extension Activation {
    /// Returns the token for `demand`, and creates it if necessary.
    func token(_ demand: TokenDemand) async throws -> ActivationRecord.Token {
        if let token = self.cachedToken(demand) { return token }
        let record = try await self.storedRecord()
        // A token renewed by another process may be of another version.
        try self.adopt(record)
        // While the store was read, another task may have created one, or the activation may have been removed.
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

    /// Creates a token in place of `replaced`, unless another one has replaced it.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidName`` for an invalid name.
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
            // The shared creation may have had other factors, or returned the token to be replaced.
            if token != replaced, demand.accepts(token) { return token }
        }
    }

    private func fetchToken(
        _ demand: TokenDemand,
        with authentication: Authentication,
        replacing replaced: ActivationRecord.Token?
    ) async throws -> ActivationRecord.Token {
        // Another creation may have ended after the caller's check.
        if let token = self.cachedToken(demand, otherThan: replaced) { return token }
        return try await self.send(with: authentication) { keys in
            try SignedRequest(EndpointRequest(.tokenCreate, in: keys.dialect.version), keys: keys)
        } receive: { response, _ in
            let token = try self.readToken(response, madeWith: SignatureType(authentication))
            guard token != replaced else {
                throw MobileTokenError.invalidResponse("The server handed out again the token that is to be replaced")
            }
            // Stored even if the caller no longer waits: the server has it, and the next request can use it.
            let kept = try await self.updateRecord { $0.keep(token, as: demand.name, replacing: replaced) }
            await self.remember(kept, as: demand.name)
            return kept
        }
    }

    private nonisolated func readToken(
        _ response: ServerResponse,
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

    /// Replaces a token that the server refuses.
    ///
    /// - Returns: `nil` if that takes factors that are not available.
    func replaceToken(
        refused: ActivationRecord.Token,
        for demand: TokenDemand
    ) async throws -> ActivationRecord.Token? {
        // Another task or process may have replaced it already.
        if let token = self.cachedToken(demand, otherThan: refused) { return token }
        let record = try await self.storedRecord()
        if let token = record.tokens[demand.name], token != refused, demand.accepts(token) {
            try self.adopt(record)  // it may be of another version
            self.tokenCache[demand.name] = token
            return token
        }
        guard let authentication = demand.authentication(for: refused.factors) else { return nil }
        // A possession token is dropped at once, so that it is not used again if the creation fails.
        if refused.factors == .possession { try await self.forgetToken(demand.name, refused) }
        let renewal = TokenDemand(demand.name.string, refused.factors, with: authentication)
        return try await self.createToken(renewal, replacing: refused)
    }

    /// Drops a token, unless another one has its name.
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
    /// Stores a new token, unless one with more factors has its name, and returns the stored one.
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
