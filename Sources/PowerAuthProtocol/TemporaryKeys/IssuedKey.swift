/// A temporary key that the server issued: the content of its response to a request for one.
package struct IssuedKey<Key: Sendable & Equatable>: Sendable, Equatable {
    package let keyID: String
    /// The server's half: a public key in version 3, its part of an agreement in version 4.
    package let key: Key
    /// The server's time when it responded, in milliseconds since 1970.
    package let issuedAt: Int64
    /// The time when the key expires, in milliseconds since 1970.
    package let expiresAt: Int64

    /// Describes a key that the server made.
    package init(keyID: String, key: Key, issuedAt: Int64, expiresAt: Int64) {
        self.keyID = keyID
        self.key = key
        self.issuedAt = issuedAt
        self.expiresAt = expiresAt
    }

    /// The claims of the response to `request`, with those about the key itself.
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
