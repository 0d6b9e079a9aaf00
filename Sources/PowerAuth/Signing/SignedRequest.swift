import HTTPClientTransport

/// A request that takes a signature.
struct SignedRequest: Sendable {
    let path: String
    let uriID: String
    let keys: SigningKeys
    var headers: HTTPHeaders = [:]
    /// What the signature decides, if it decides an operation.
    var decision: DecisionTicket?
    /// Makes the body anew for every attempt: an encrypted one may be used once.
    let body: @Sendable () async throws -> RequestBody
}

/// A body as it is sent, and how to read the response to it.
struct RequestBody: Sendable {
    let bytes: [UInt8]
    /// The identifier of the temporary key it is encrypted for.
    var temporaryKeyID: String?
    /// Tells the server how to open it; left out when the request is signed, for the signature's header says as much.
    var encryptionHeader: String?
    /// Decrypts the response; the identity for bodies in the clear.
    var open: @Sendable ([UInt8]) throws -> [UInt8] = { $0 }
}
