public import PowerAuthCrypto

extension Activation {
    /// Unlocks the knowledge factor once for many signatures: each then does without the password's key derivation.
    ///
    /// A wrong password is not noticed here: only the server can tell, from a signature.
    public nonisolated func unlockKnowledge(password: SecretBytes) async throws -> Authentication.UnlockedFactor {
        try await self.withSigningKeys(for: .possessionAndKnowledge(password: password)) { keys in
            guard let key = keys.keys.last, let generation = keys.knowledgeGeneration else {
                throw MobileTokenError.unknownActivation
            }
            return Authentication.UnlockedFactor(activationID: self.activationID, key: key, generation: generation)
        }
    }

    /// Unlocks the knowledge factor with a password held as a string.
    public nonisolated func unlockKnowledge(password: String) async throws -> Authentication.UnlockedFactor {
        try await self.unlockKnowledge(password: SecretBytes(utf8: password))
    }

    /// Asks the server whether the factors are right, with a signature that serves nothing else.
    ///
    /// - Throws: ``MobileTokenError/Code/authenticationFailed`` when they are not; that counts as a failed attempt.
    public func validate(_ authentication: Authentication) async throws {
        try await self.validate(authentication, reason: .password)
    }

    func validate(_ authentication: Authentication, reason: ValidationReason) async throws {
        try await self.send(with: authentication) { keys in
            try SignedRequest(keys.dialect.validation(for: reason), keys: keys)
        } receive: { response, _ in
            try Acknowledgement.check(response, of: "validate")
        }
    }

    /// Changes the password, after the server has confirmed the old one.
    public func changePassword(from old: SecretBytes, to new: SecretBytes) async throws {
        try Password.validate(new)
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.changePassword(dialect, from: old, to: new)
            case .agreed(let dialect): try await self.changePassword(dialect, from: old, to: new)
            }
        }
    }

    /// Changes the password without asking the server. In version 3 of the protocol only; from version 4 on passwords are changed
    /// together with the server, and this throws ``MobileTokenError/Code/notSupported``.
    ///
    /// Nothing here can tell whether `old` is right. If it is not, the knowledge factor is lost for good: no password
    /// will unlock it any more. Prefer ``changePassword(from:to:)``.
    public func changePasswordUnchecked(from old: SecretBytes, to new: SecretBytes) async throws {
        try Password.validate(old)
        try Password.validate(new)
        try await self.withStoredDialect { dialect in
            guard case .local(let dialect) = dialect.factorChange else {
                throw MobileTokenError.unsupported("Version 4 of the protocol changes passwords with the server alone")
            }
            try await self.changePasswordUnchecked(dialect, from: old, to: new)
        }
    }

    /// Returns whether the biometry factor is set up.
    public func hasBiometryFactor() async throws -> Bool {
        try self.checkNotRemoved()
        let record = try await self.storedRecord()
        try self.adopt(record)
        return record.keys.hasBiometryFactor
    }

    /// Sets up the biometry factor, or replaces the key that protects it. On a server that key is 16 bytes from outside:
    /// a file, a KMS, an HSM.
    public func addBiometryFactor(key: SecretBytes, password: SecretBytes) async throws {
        try BiometryUnlockKey.validate(key)
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.addBiometryFactor(dialect, key: key, password: password)
            case .agreed(let dialect): try await self.addBiometryFactor(dialect, key: key, password: password)
            }
        }
    }

    /// Forgets the biometry factor, in version 4 of the protocol together with the server.
    public func removeBiometryFactor() async throws {
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.removeBiometryFactor(dialect)
            case .agreed(let dialect): try await self.removeBiometryFactor(dialect)
            }
        }
    }
}
