/// A temporary key issued by the server.
package struct IssuedKey<Key: Sendable & Equatable>: Sendable, Equatable {
    package let keyID: String
    /// The server's half: a public key in version 3, its part of the agreement in version 4.
    package let key: Key
    /// The server's time of the response, in milliseconds since 1970.
    package let issuedAt: Int64
    /// The expiry, in milliseconds since 1970.
    package let expiresAt: Int64

    package init(keyID: String, key: Key, issuedAt: Int64, expiresAt: Int64) {
        self.keyID = keyID
        self.key = key
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// Returns the claims of the response to `request`, including the key's.
    func claims<KeyClaim: Codable>(
        _ keyClaim: KeyClaim,
        answering request: some TemporaryKeyRequestClaims
    ) -> JoinedClaims<TemporaryKeyResponseClaims, KeyClaim> {
        JoinedClaims(
            TemporaryKeyResponseClaims(
                keyID: self.keyID,
                issuedAt: self.issuedAt,
                expiresAt: self.expiresAt,
                answering: request
            ),
            keyClaim
        )
    }
}
