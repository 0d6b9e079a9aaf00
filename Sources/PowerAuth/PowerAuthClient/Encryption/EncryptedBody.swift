package import PowerAuthProtocol

extension Activation {
    /// Encrypts the body of a request that the application sends itself.
    package nonisolated func encryptBody(_ plaintext: [UInt8], in scope: EnvelopeScope) async throws -> EncodedBody {
        try self.checkNotRemoved()
        return try await self.dialect.encryption(in: scope).encrypt(plaintext, for: .generic)
    }
}

extension MobileTokenClient {
    /// Encrypts the body of a request that the application sends itself, in the application scope.
    package func encryptBody(_ plaintext: [UInt8]) async throws -> EncodedBody {
        try await self.encryptionKeys.standard.encrypt(plaintext, for: .generic)
    }
}
