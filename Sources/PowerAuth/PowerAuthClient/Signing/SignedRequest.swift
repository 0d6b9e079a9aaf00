import HTTPClientTransport

struct SignedRequest: Sendable {
    let path: String
    let uriID: String
    let keys: SigningKeys
    var headers: HTTPHeaders = [:]
    /// The decision that the signature makes, if any.
    var decision: DecisionTicket?
    /// Allows the request before a pending confirmation.
    var isConfirming = false
    /// Sends both the encryption and the signature header, if they have different versions.
    var sendsEncryptionHeader = false
    /// Makes the body for each attempt: an encrypted one may be used once.
    let body: @Sendable () async throws -> EncodedBody
}

/// A body to send, with the decryption of its response.
package struct EncodedBody: Sendable {
    /// The header's name in all protocol versions.
    package static let encryptionHeaderName = "X-PowerAuth-Encryption"

    package let bytes: [UInt8]
    var temporaryKeyID: String?
    /// The value of the encryption header. Omitted in signed requests, whose signature header contains it.
    package var encryptionHeader: String?
    /// The plaintext that a code covers instead of ``bytes``, if the request is signed before encryption. The order of
    /// computation does not matter.
    var signedPlaintext: [UInt8]?
    /// Decrypts the response; the identity for plaintext bodies.
    package var open: @Sendable ([UInt8]) throws -> [UInt8] = { $0 }
}

extension EncodedBody {
    var signedBytes: [UInt8] { self.signedPlaintext ?? self.bytes }
}

extension HTTPHeaders {
    mutating func setEncryption(of body: EncodedBody) { self[EncodedBody.encryptionHeaderName] = body.encryptionHeader }
}
