package import PowerAuthCrypto

/// The client's side of an encrypted exchange: one request, then its response.
package struct ECIESClientExchange: Sendable {
    private enum State {
        case fresh
        case awaitingResponse(ECIESEnvelope, requestNonce: [UInt8])
        case finished
    }

    private let parameters: ECIESParameters
    private let recipient: P256PublicKey
    private var state = State.fresh

    /// - Parameter recipient: The temporary key in version 3.3; before, the application's master key or the server's key of the
    ///   activation. Keep it, because parsing a point costs more than using it.
    package init(parameters: ECIESParameters, recipient: P256PublicKey) {
        self.parameters = parameters
        self.recipient = recipient
    }

    /// Encrypts the request.
    ///
    /// - Parameters:
    ///   - ephemeralKey: A key for this request only.
    ///   - ephemeralKeyForm: The encoding of its point.
    ///   - nonce: 16 random bytes.
    ///   - timestamp: The server's time, in milliseconds since 1970. Version 3.1 does not send it.
    package mutating func encryptRequest(
        _ plaintext: [UInt8],
        ephemeralKey: P256PrivateKey,
        ephemeralKeyForm: P256PublicKey.Form = .compressed,
        nonce: [UInt8],
        timestamp: Int64
    ) throws(EncryptionError) -> ECIESRequest {
        guard case .fresh = self.state else { throw .outOfOrder }
        guard nonce.count == ECIESLength.nonce else { throw .malformed(member: "nonce") }
        let version = self.parameters.version
        if version.usesTemporaryKeys, self.parameters.temporaryKeyID == nil {
            throw .malformed(member: "temporaryKeyId")
        }
        let timestamp = version.usesTimestamps ? timestamp : nil
        let ephemeralPublicKey = ephemeralKey.publicKey.bytes(in: ephemeralKeyForm)
        do throws(CryptoError) {
            let envelope = try ECIESEnvelope(
                sharedSecret: ephemeralKey.sharedSecret(with: self.recipient),
                sharedInfo1: self.parameters.sharedInfo1,
                ephemeralPublicKey: ephemeralPublicKey
            )
            let sealed = try envelope.seal(
                plaintext,
                nonce: nonce,
                sharedInfo2: self.parameters.sharedInfo2(
                    nonce: nonce,
                    timestamp: timestamp,
                    ephemeralPublicKey: ephemeralPublicKey
                )
            )
            self.state = .awaitingResponse(envelope, requestNonce: nonce)
            return ECIESRequest(
                temporaryKeyID: self.parameters.temporaryKeyID,
                ephemeralPublicKey: ephemeralPublicKey,
                encryptedData: sealed.encryptedData,
                mac: sealed.mac,
                nonce: nonce,
                timestamp: timestamp
            )
        } catch {
            throw .crypto(error)
        }
    }

    /// Decrypts the response. After a refused response the right one may still follow.
    package mutating func decryptResponse(_ response: ECIESResponse) throws(EncryptionError) -> [UInt8] {
        guard case .awaitingResponse(let envelope, let requestNonce) = self.state else { throw .outOfOrder }
        let nonce = try self.nonce(of: response, requestNonce: requestNonce)
        guard response.mac.count == ECIESLength.mac else { throw .malformed(member: "mac") }
        let plaintext = try envelope.open(
            ECIESEnvelope.Sealed(encryptedData: response.encryptedData, mac: response.mac),
            nonce: nonce,
            sharedInfo2: self.parameters.sharedInfo2(
                nonce: nonce,
                timestamp: response.timestamp,
                ephemeralPublicKey: []
            )
        )
        self.state = .finished
        return plaintext
    }

    private func nonce(of response: ECIESResponse, requestNonce: [UInt8]) throws(EncryptionError) -> [UInt8] {
        guard (response.timestamp != nil) == self.parameters.version.usesTimestamps else {
            throw .malformed(member: "timestamp")
        }
        guard self.parameters.version.usesTimestamps else {
            guard response.nonce == nil else { throw .malformed(member: "nonce") }
            return requestNonce
        }
        guard let nonce = response.nonce, nonce.count == ECIESLength.nonce else { throw .malformed(member: "nonce") }
        return nonce
    }
}
