public import PowerAuthClient
public import PowerAuthCrypto

extension Activation {
    /// Changes the password locally. In protocol version 4 this throws ``MobileTokenError/Code/notSupported``.
    ///
    /// A wrong `old` is not detected, and destroys the knowledge factor for good. Prefer `changePassword(from:to:)`.
    public func changePasswordUnchecked(from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.setPasswordUnchecked(from: old, to: new)
    }

    /// Returns whether the biometry factor is set up.
    public func hasBiometryFactor() async throws -> Bool {
        try await self.isBiometryOn()
    }

    /// Sets up the biometry factor, or replaces its key: 16 external bytes, from a file, KMS or HSM.
    public func addBiometryFactor(key: SecretBytes, password: SecretBytes) async throws {
        try await self.setBiometryFactor(key: key, password: password)
    }

    /// Removes the biometry factor, in protocol version 4 also at the server.
    public func removeBiometryFactor() async throws {
        try await self.endBiometryFactor()
    }
}
