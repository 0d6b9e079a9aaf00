package import PowerAuthProtocol

extension Version4 {
    /// The server's side of one encrypted exchange: decrypts a request, then encrypts its response.
    ///
    /// The caller checks that the timestamp is fresh, and that the nonce is new for this temporary key, which requires a clock
    /// and a store. A nonce counts as used only after the request was decrypted.
    package struct ServerExchange: Sendable {
        private let parameters: EncryptionParameters
        private var envelope: Envelope?

        package init(parameters: EncryptionParameters) { self.parameters = parameters }

        /// Decrypts the request.
        ///
        /// - Throws: An error if anything differs from the client's data.
        package mutating func decryptRequest(_ request: EncryptedRequest) throws(EncryptionError) -> [UInt8] {
            guard request.temporaryKeyID == self.parameters.temporaryKeyID else { throw .wrongTemporaryKey }
            let envelope = try Envelope(parameters: self.parameters, nonce: request.nonce)
            let plaintext = try envelope.open(request.encryptedData, .request, timestamp: request.timestamp)
            self.envelope = envelope
            return plaintext
        }

        /// Encrypts the response to the decrypted request, once.
        ///
        /// - Parameter timestamp: Milliseconds since 1970.
        package mutating func encryptResponse(
            _ plaintext: [UInt8],
            timestamp: Int64
        ) throws(EncryptionError) -> EncryptedResponse {
            guard let envelope = self.envelope else { throw .outOfOrder }
            let encryptedData = try envelope.seal(plaintext, .response, timestamp: timestamp)
            self.envelope = nil
            return EncryptedResponse(encryptedData: encryptedData, timestamp: timestamp)
        }
    }
}
