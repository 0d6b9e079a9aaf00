public import PowerAuthClient

extension Activation {
    /// Renames the activation at the server and in the store. `name` of this instance does not change.
    ///
    /// - Parameters:
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - authentication: Two factors.
    /// - Throws: ``MobileTokenError/Code/invalidName``; ``MobileTokenError/Code/invalidAuthentication`` for possession alone;
    ///   ``MobileTokenError/Code/notSupported`` when the activation is of version 3 and the server older than 2.2.
    public func rename(to name: String, with authentication: Authentication) async throws {
        try await self.setName(to: name, with: authentication)
    }

    /// Returns the activation's name at the server.
    ///
    /// The server requires a two-factor token. It is stored as `possession_knowledge` or `possession_biometry`, so only the first
    /// call signs.
    ///
    /// ```swift
    /// let name = try await activation.nameAtServer(authenticatedBy: .possessionAndKnowledge(password: password))
    /// ```
    ///
    /// - Parameter authentication: Two factors.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for possession alone.
    public func nameAtServer(authenticatedBy authentication: Authentication) async throws -> String? {
        try await self.fetchName(authenticatedBy: authentication)
    }
}
