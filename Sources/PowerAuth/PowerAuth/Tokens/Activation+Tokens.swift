public import PowerAuthClient

/// Named tokens: created on demand, stored, and renewed once when the server refuses one.
extension Activation {
    /// Returns the names of the activation's stored tokens, sorted.
    public func tokenNames() async throws -> [String] { try await self.namesOfTokens() }

    /// Creates a token at the server, unless one with this name and at least these factors exists. Concurrent requests for a name
    /// share one creation if its factors suffice for each.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8 without control characters, compared byte for byte.
    ///   - authentication: The factors of the token.
    /// - Throws: ``MobileTokenError/Code/invalidName`` for any other name, before anything is sent.
    public func requestToken(_ name: String, with authentication: Authentication = .possession) async throws {
        try await self.createToken(named: name, with: authentication)
    }

    /// Replaces a token, such as a two-factor token that the server refuses. Those are not renewed automatically, because
    /// possession alone would create a weaker one.
    ///
    /// - Parameters:
    ///   - name: The name of the token.
    ///   - authentication: At least the factors of the replaced token.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for fewer factors, before anything is sent.
    public func renewToken(_ name: String, with authentication: Authentication) async throws {
        try await self.replaceToken(named: name, with: authentication)
    }

    /// Removes a token at the server and locally, if it exists.
    public func removeToken(_ name: String) async throws { try await self.removeToken(named: name) }

    /// Removes a token locally; it stays valid at the server.
    public func removeTokenLocally(_ name: String) async throws { try await self.forgetToken(named: name) }
}
