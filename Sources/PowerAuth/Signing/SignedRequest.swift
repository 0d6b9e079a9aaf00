import HTTPClientTransport

/// A request that takes a signature.
struct SignedRequest: Sendable {
    let path: String
    let uriID: String
    let keys: SigningKeys
    var headers: HTTPHeaders = [:]
    /// The decision that the signature makes, if it decides an operation.
    var decision: DecisionTicket?
    /// Lets the request come before a confirmation that the server waits for.
    var isConfirming = false
    /// Sends the header of encryption with that of the signature, as is done where the two are of different versions.
    var sendsEncryptionHeader = false
    /// Makes the body anew for every attempt: an encrypted one may be used once.
    let body: @Sendable () async throws -> RequestBody
}

/// A body as it is sent, and how to read the response to it.
struct RequestBody: Sendable {
    /// The header's name, the same in all versions of the protocol.
    static let encryptionHeaderName = "X-PowerAuth-Encryption"

    let bytes: [UInt8]
    /// The identifier of the temporary key it is encrypted for.
    var temporaryKeyID: String?
    /// Tells the server how to open it; left out when the request is signed, for the signature's header says as much.
    var encryptionHeader: String?
    /// The bytes that a code covers in place of ``bytes``, where a request is signed before it is encrypted. The two do not depend on each
    /// other, so which is computed first is of no matter.
    var signedPlaintext: [UInt8]?
    /// Decrypts the response; the identity for bodies in the clear.
    var open: @Sendable ([UInt8]) throws -> [UInt8] = { $0 }
}

extension RequestBody {
    /// The bytes that a code covers.
    var signedBytes: [UInt8] { self.signedPlaintext ?? self.bytes }
}

extension HTTPHeaders {
    /// Sets the header that tells the server how to open a body, if it has one.
    mutating func setEncryption(of body: RequestBody) { self[RequestBody.encryptionHeaderName] = body.encryptionHeader }
}
