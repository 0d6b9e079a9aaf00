public import PowerAuthClient

/// A request encrypted for the server, and the means to decrypt its response. Usable once.
///
/// For requests that the application sends itself; ``PowerAuthEndpoint`` does everything in one call.
public struct EncryptedRequest: ~Copyable, Sendable {
    /// The JSON body to post.
    public let body: [UInt8]
    /// The name of the required header.
    public let headerName = EncodedBody.encryptionHeaderName
    /// The value of the required header.
    public let headerValue: String

    private let open: @Sendable ([UInt8]) throws -> [UInt8]

    init(_ body: EncodedBody) {
        self.body = body.bytes
        self.headerValue = body.encryptionHeader ?? ""
        self.open = body.open
    }

    /// Decrypts the response body.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse`` if it is not the server's response to this request.
    public consuming func decrypt(_ response: [UInt8]) throws -> [UInt8] {
        let open = self.open
        return try MobileTokenError.mapErrors(ofResponse: "an encrypted request") { try open(response) }
    }
}

extension Activation {
    /// Encrypts the body of a request that the application sends itself.
    public nonisolated func encrypt(
        _ plaintext: [UInt8],
        scope: EncryptionScope = .activation
    ) async throws -> EncryptedRequest {
        EncryptedRequest(try await self.encryptBody(plaintext, in: scope.envelope))
    }
}

extension MobileTokenClient {
    /// Encrypts the body of a request that the application sends itself, in the application scope.
    public func encrypt(_ plaintext: [UInt8]) async throws -> EncryptedRequest {
        EncryptedRequest(try await self.encryptBody(plaintext))
    }
}
