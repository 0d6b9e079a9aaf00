import PowerAuthProtocol

extension ServerConnection {
    /// Asks for a temporary key. The response is signed and repeats the client's challenge, so its time of issue is the server's
    /// time as well.
    ///
    /// - Parameter read: Checks the signed response, given the server's time in milliseconds.
    /// - Returns: The key, and how long the server will accept it.
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
                    // A clock that was never compared with the server's must not declare a fresh key expired.
                    try read(token.jwt, self.time.isSynchronized ? self.time.milliseconds : .min)
                }
                // An expired key is refused while the response is known.
                return (issued, lifetime: try issued.lifetime())
            }
        }
    }

    private struct Token: Codable { let jwt: String }
}

/// The limits of a temporary key's use.
enum TemporaryKeyLifetime {
    /// A key is not used in the last seconds of its life, so that it does not expire on the way.
    static let margin: Duration = .seconds(10)
    /// Nor for a code in its last half minute: a server that does not know the key any more may count the code as wrong.
    static let marginBeforeSigning: Duration = .seconds(30)
    fileprivate static let longest: Int64 = 24 * 60 * 60 * 1000
}

extension IssuedKey {
    /// Returns how long the server will accept the key.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse`` when it never did.
    func lifetime() throws(MobileTokenError) -> Duration {
        let (milliseconds, overflow) = self.expiresAt.subtractingReportingOverflow(self.issuedAt)
        guard !overflow, milliseconds > 0 else { throw .invalidResponse("The server's temporary key has expired") }
        return .milliseconds(min(milliseconds, TemporaryKeyLifetime.longest))
    }
}
