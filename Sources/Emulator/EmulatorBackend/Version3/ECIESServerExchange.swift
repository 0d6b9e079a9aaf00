package import PowerAuthCrypto
package import PowerAuthProtocol

/// The server's side of one encrypted exchange: decrypts a request, then encrypts its response.
///
/// The caller checks that the timestamp is fresh, and that nonce and ephemeral key are new, which requires a clock and a store.
package struct ECIESServerExchange: Sendable {
    private let parameters: ECIESParameters
    private let privateKey: P256PrivateKey
    private var exchange: (envelope: ECIESEnvelope, requestNonce: [UInt8])?

    /// Creates an exchange.
    ///
    /// - Parameters:
    ///   - parameters: Taken from the endpoint and the headers of the request.
    ///   - privateKey: The temporary key in version 3.3; before it, the application's master key or the activation's server key.
    package init(parameters: ECIESParameters, privateKey: P256PrivateKey) {
        self.parameters = parameters
        self.privateKey = privateKey
    }

    /// Decrypts the request.
    ///
    /// - Throws: An error if anything differs from the client's data.
    package mutating func decryptRequest(_ request: ECIESRequest) throws(EncryptionError) -> [UInt8] {
        try self.checkMembers(of: request)
        let envelope = try self.envelope(of: request)
        let plaintext = try envelope.open(
            ECIESEnvelope.Sealed(encryptedData: request.encryptedData, mac: request.mac),
            nonce: request.nonce,
            sharedInfo2: self.parameters.sharedInfo2(
                nonce: request.nonce,
                timestamp: request.timestamp,
                ephemeralPublicKey: request.ephemeralPublicKey
            )
        )
        self.exchange = (envelope, request.nonce)
        return plaintext
    }

    /// Encrypts the response to the decrypted request.
    ///
    /// - Parameters:
    ///   - nonce: 16 random bytes. Version 3.1 uses the request's nonce instead.
    ///   - timestamp: Milliseconds since 1970. Version 3.1 does not send it.
    package mutating func encryptResponse(
        _ plaintext: [UInt8],
        nonce: [UInt8],
        timestamp: Int64
    ) throws(EncryptionError) -> ECIESResponse {
        guard let exchange = self.exchange else { throw .outOfOrder }
        let usesTimestamps = self.parameters.version.usesTimestamps
        let usedNonce = usesTimestamps ? nonce : exchange.requestNonce
        guard usedNonce.count == ECIESLength.nonce else { throw .malformed(member: "nonce") }
        let usedTimestamp = usesTimestamps ? timestamp : nil
        do throws(CryptoError) {
            let sealed = try exchange.envelope.seal(
                plaintext,
                nonce: usedNonce,
                sharedInfo2: self.parameters.sharedInfo2(
                    nonce: usedNonce,
                    timestamp: usedTimestamp,
                    ephemeralPublicKey: []
                )
            )
            self.exchange = nil
            return ECIESResponse(
                encryptedData: sealed.encryptedData,
                mac: sealed.mac,
                nonce: usesTimestamps ? nonce : nil,
                timestamp: usedTimestamp
            )
        } catch {
            throw .crypto(error)
        }
    }

    private func checkMembers(of request: ECIESRequest) throws(EncryptionError) {
        guard request.temporaryKeyID == self.parameters.temporaryKeyID,
            (request.temporaryKeyID != nil) == self.parameters.version.usesTemporaryKeys
        else { throw .malformed(member: "temporaryKeyId") }
        guard (request.timestamp != nil) == self.parameters.version.usesTimestamps else {
            throw .malformed(member: "timestamp")
        }
        guard request.nonce.count == ECIESLength.nonce else { throw .malformed(member: "nonce") }
        guard request.mac.count == ECIESLength.mac else { throw .malformed(member: "mac") }
    }

    private func envelope(of request: ECIESRequest) throws(EncryptionError) -> ECIESEnvelope {
        guard let ephemeralKey = try? P256PublicKey(x963: request.ephemeralPublicKey) else {
            throw .invalidEphemeralKey
        }
        do throws(CryptoError) {
            return try ECIESEnvelope(
                sharedSecret: self.privateKey.sharedSecret(with: ephemeralKey),
                sharedInfo1: self.parameters.sharedInfo1,
                ephemeralPublicKey: request.ephemeralPublicKey
            )
        } catch {
            throw .crypto(error)
        }
    }
}
