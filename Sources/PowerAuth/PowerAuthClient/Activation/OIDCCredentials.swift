package import PowerAuthCrypto

/// The evidence for the server that a provider signed a user in.
package struct OIDCCredentials: Sendable {
    let providerID: String
    let code: SecretBytes
    let nonce: SecretBytes
    /// `nil` without PKCE.
    let codeVerifier: SecretBytes?

    package init(providerID: String, code: SecretBytes, nonce: SecretBytes, codeVerifier: SecretBytes?) {
        self.providerID = providerID
        self.code = code
        self.nonce = nonce
        self.codeVerifier = codeVerifier
    }
}

extension SecretBytes {
    /// The secret as a string, for encryption or the browser.
    package var text: String { self.withUnsafeBytes { String(decoding: $0, as: UTF8.self) } }
}
