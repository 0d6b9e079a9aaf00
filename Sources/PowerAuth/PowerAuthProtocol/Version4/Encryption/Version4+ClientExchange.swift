extension Version4 {
    /// The client's side of an encrypted exchange: one request, then its response.
    package struct ClientExchange: Sendable {
        package static let nonceByteCount = Envelope.nonceByteCount

        private enum State {
            case fresh
            case awaitingResponse(Envelope)
            case finished
        }

        private let parameters: EncryptionParameters
        private var state = State.fresh

        package init(parameters: EncryptionParameters) { self.parameters = parameters }

        /// Encrypts the request.
        ///
        /// - Parameters:
        ///   - nonce: 24 random bytes with different halves.
        ///   - timestamp: The server's time, in milliseconds since 1970.
        package mutating func encryptRequest(
            _ plaintext: [UInt8],
            nonce: [UInt8],
            timestamp: Int64
        ) throws(EncryptionError) -> EncryptedRequest {
            guard case .fresh = self.state else { throw .outOfOrder }
            let envelope = try Envelope(parameters: self.parameters, nonce: nonce)
            let encryptedData = try envelope.seal(plaintext, .request, timestamp: timestamp)
            self.state = .awaitingResponse(envelope)
            return EncryptedRequest(
                temporaryKeyID: self.parameters.temporaryKeyID,
                encryptedData: encryptedData,
                nonce: nonce,
                timestamp: timestamp
            )
        }

        /// Decrypts the response. After a refused response the right one may still follow.
        package mutating func decryptResponse(_ response: EncryptedResponse) throws(EncryptionError) -> [UInt8] {
            guard case .awaitingResponse(let envelope) = self.state else { throw .outOfOrder }
            let plaintext = try envelope.open(response.encryptedData, .response, timestamp: response.timestamp)
            self.state = .finished
            return plaintext
        }
    }
}
