internal import PowerAuthProtocol

extension Activation {
    /// Removes the activation at the server, and then here.
    ///
    /// - Parameter authentication: Two factors; the server refuses possession alone.
    public func remove(with authentication: Authentication) async throws {
        let request = SignedRequest(
            path: "/pa/v3/activation/remove",
            uriID: "/pa/activation/remove",
            keys: try await self.signingKeys(for: authentication),
            body: { RequestBody(bytes: Array("{}".utf8)) }
        )
        try await self.send(request) { _ in try await self.removeLocally() }
    }

    /// Forgets the activation here, with its factors and tokens. The server keeps it.
    ///
    /// Requests that are on the wire end as they would have; later ones throw
    /// ``MobileTokenError/Code/unknownActivation``.
    public func removeLocally() async throws {
        try await MobileTokenError.store { try await self.server.store.remove(self.activationID) }
        self.markRemoved()
        self.tokenCache = [:]
        self.settledCounter = nil
    }
}
