public import PowerAuthProtocol

/// One request encrypted for the server, and the only means to read the response to it.
///
/// For requests that the application sends by itself; ``PowerAuthEndpoint`` does all of this in one call. It can be used once.
public struct EncryptedRequest: ~Copyable, Sendable {
    /// The JSON body to post.
    public let body: [UInt8]
    /// The name of the header that must go with it.
    public let headerName = RequestBody.encryptionHeaderName
    /// The value of that header.
    public let headerValue: String

    private let open: @Sendable ([UInt8]) throws -> [UInt8]

    init(_ body: RequestBody) {
        self.body = body.bytes
        self.headerValue = body.encryptionHeader ?? ""
        self.open = body.open
    }

    /// Decrypts the body of the response.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse`` when it is not the server's response to this request.
    public consuming func decrypt(_ response: [UInt8]) throws -> [UInt8] {
        let open = self.open
        return try MobileTokenError.mapErrors(ofResponse: "an encrypted request") { try open(response) }
    }
}

extension Activation {
    /// Encrypts the body of a request that the application sends by itself.
    public nonisolated func encrypt(
        _ plaintext: [UInt8],
        scope: EncryptionScope = .activation
    ) async throws -> EncryptedRequest {
        try self.checkNotRemoved()
        let encryption = self.dialect.encryption(in: scope)
        return EncryptedRequest(try await encryption.encrypt(plaintext, for: .generic))
    }
}

extension MobileTokenClient {
    /// Encrypts the body of a request that the application sends by itself, for the application.
    public func encrypt(_ plaintext: [UInt8]) async throws -> EncryptedRequest {
        EncryptedRequest(try await self.encryptionKeys.standard.encrypt(plaintext, for: .generic))
    }
}
