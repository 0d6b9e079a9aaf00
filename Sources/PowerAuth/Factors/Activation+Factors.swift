public import PowerAuthCrypto
import PowerAuthProtocol

extension Activation {
    /// Unlocks the knowledge factor once for many signatures: each then does without the password's key derivation.
    ///
    /// A wrong password is not noticed here: only the server can tell, from a signature.
    public nonisolated func unlockKnowledge(password: SecretBytes) async throws -> UnlockedFactor {
        let keys = try await self.signingKeys(for: .possessionAndKnowledge(password: password))
        guard let key = keys.keys.last else { throw MobileTokenError.unknownActivation }
        return UnlockedFactor(activationID: self.activationID, key: key)
    }

    /// Unlocks the knowledge factor with a password held as a string.
    public nonisolated func unlockKnowledge(password: String) async throws -> UnlockedFactor {
        try await self.unlockKnowledge(password: SecretBytes(utf8: password))
    }

    /// Asks the server whether the factors are right, with a signature that serves nothing else.
    ///
    /// - Throws: ``MobileTokenError/Code/authenticationFailed`` when they are not; that counts as a failed attempt.
    public func validate(_ authentication: Authentication) async throws {
        let request = SignedRequest(
            path: "/pa/v3/signature/validate",
            uriID: "/pa/signature/validate",
            keys: try await self.signingKeys(for: authentication),
            body: { RequestBody(bytes: Array("{}".utf8)) }
        )
        try await self.send(request) { _ in }
    }

    /// Changes the password, after the server has confirmed the old one.
    public func changePassword(from old: SecretBytes, to new: SecretBytes) async throws {
        try Password.validate(new)
        try await self.validate(.possessionAndKnowledge(password: old))
        try await self.changePasswordUnchecked(from: old, to: new)
    }

    /// Changes the password without asking the server.
    ///
    /// Nothing here can tell whether `old` is right. If it is not, the knowledge factor is lost for good: no password
    /// will unlock it any more. Prefer ``changePassword(from:to:)``.
    public func changePasswordUnchecked(from old: SecretBytes, to new: SecretBytes) async throws {
        try Password.validate(old)
        try Password.validate(new)
        try self.checkNotRemoved()
        let record = try await self.storedRecord()
        let salt = self.server.randomness.bytes(16)
        let encrypted = try await self.reprotect(record, from: old, to: new, salt: salt)
        try await self.updateRecord { current in
            // Two changes at once: the later one started from a key that is no longer there.
            guard current.knowledgeSalt == record.knowledgeSalt else {
                throw MobileTokenError(.invalidAuthentication, "The password was changed in the meantime")
            }
            current.encryptedKnowledgeKey = encrypted
            current.knowledgeSalt = salt
        }
    }

    /// Runs two key derivations of some milliseconds each, off the actor and off Swift's own threads.
    private nonisolated func reprotect(
        _ record: ActivationRecord,
        from old: SecretBytes,
        to new: SecretBytes,
        salt: [UInt8]
    ) async throws -> SecretBytes {
        try await self.server.derivations.run {
            try MobileTokenError.mapCryptoErrors {
                let key = try KnowledgeKeyProtection.unprotect(
                    record.encryptedKnowledgeKey,
                    password: old,
                    salt: record.knowledgeSalt
                )
                return try KnowledgeKeyProtection.protect(key, password: new, salt: salt)
            }
        }
    }

    /// Returns whether the biometry factor is set up.
    public func hasBiometryFactor() async throws -> Bool {
        try await self.storedRecord().encryptedBiometryKey != nil
    }

    /// Forgets the biometry factor. The server does not need to know: without this key, the factor cannot be used.
    public func removeBiometryFactor() async throws {
        try await self.updateRecord { $0.encryptedBiometryKey = nil }
    }
}
