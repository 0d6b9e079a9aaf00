import PowerAuthProtocol

extension ServerConnection {
    /// Fetches a temporary key. The response is signed and repeats the client's challenge, so its time of issue also measures the
    /// server's time.
    ///
    /// - Parameter read: Verifies the signed response, given the server's time in milliseconds.
    /// - Returns: The key and its lifetime.
    func fetchTemporaryKey<Key>(
        in version: ProtocolVersion,
        for activationID: String?,
        jwt: String,
        read: (_ response: String, _ now: Int64) throws -> IssuedKey<Key>
    ) async throws -> (IssuedKey<Key>, lifetime: Duration) {
        let path = try ServerEndpoint.temporaryKey.path(in: version)
        return try await self.time.measuring(\.0.issuedAt) {
            try await self.ask(path, for: activationID, Token(jwt: jwt), returning: Token.self) { token in
                let issued = try MobileTokenError.mapErrors(ofResponse: path) {
                    // A clock that was never synchronized must not declare a fresh key expired.
                    try read(token.jwt, self.time.isSynchronized ? self.time.milliseconds : .min)
                }
                // Refuse an expired key while the response is at hand.
                return (issued, lifetime: try issued.lifetime())
            }
        }
    }

    private struct Token: Codable { let jwt: String }
}

enum TemporaryKeyLifetime {
    /// The last part of a key's life in which it is not used, so that it does not expire in flight.
    static let margin: Duration = .seconds(10)
    /// The margin for signed requests: a server without the key may count the code as wrong.
    static let marginBeforeSigning: Duration = .seconds(30)
    fileprivate static let longest: Int64 = 24 * 60 * 60 * 1000
}

extension IssuedKey {
    /// Returns the key's lifetime.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse`` if it is not positive.
    func lifetime() throws(MobileTokenError) -> Duration {
        let (milliseconds, overflow) = self.expiresAt.subtractingReportingOverflow(self.issuedAt)
        guard !overflow, milliseconds > 0 else { throw .invalidResponse("The server's temporary key has expired") }
        return .milliseconds(min(milliseconds, TemporaryKeyLifetime.longest))
    }
}
