import MobileTokenObserving
public import PowerAuthCrypto

extension Activation {
    /// Unlocks the knowledge factor for many signatures, which then need no key derivation.
    ///
    /// A wrong password is not detected: only the server can tell, from a signature.
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

    /// Checks the factors at the server, with a signature that serves no other purpose.
    ///
    /// The response is not authenticated, so the encrypted status must show that the server accepted the signature.
    ///
    /// - Throws: ``MobileTokenError/Code/authenticationFailed`` for wrong factors, which counts as a failed attempt.
    ///   ``MobileTokenError/Code/invalidResponse`` if the status contradicts the response.
    public func validate(_ authentication: Authentication) async throws {
        try await self.send(with: authentication) { keys in
            try SignedRequest(keys.dialect.validation(for: .password), keys: keys)
        } receive: { response, _ in
            try Acknowledgement.check(response, of: "validate")
            // A wrong signature does not move the server's counter. The failure count proves nothing: a duplicate request raises
            // it too.
            let status = try await self.fetchStatus().status
            try response.mappingErrors {
                guard status.counter.isFollowed else {
                    throw MobileTokenError.invalidResponse("The response to validate contradicts the status")
                }
            }
        }
    }

    /// Changes the password after the server has confirmed the old one.
    public func changePassword(from old: SecretBytes, to new: SecretBytes) async throws {
        try Password.validate(new)
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.changePassword(dialect, from: old, to: new)
            case .agreed(let dialect): try await self.changePassword(dialect, from: old, to: new)
            }
        }
    }

    /// Changes the password locally.
    package func setPasswordUnchecked(from old: SecretBytes, to new: SecretBytes) async throws {
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
    package func isBiometryOn() async throws -> Bool {
        try self.checkNotRemoved()
        let record = try await self.storedRecord()
        try self.adopt(record)
        return record.keys.hasBiometryFactor
    }

    /// Sets up the biometry factor, or replaces its key.
    package func setBiometryFactor(key: SecretBytes, password: SecretBytes) async throws {
        try BiometryUnlockKey.validate(key)
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.addBiometryFactor(dialect, key: key, password: password)
            case .agreed(let dialect): try await self.addBiometryFactor(dialect, key: key, password: password)
            }
        }
    }

    /// Removes the biometry factor.
    package func endBiometryFactor() async throws {
        try await self.withStoredDialect { dialect in
            switch dialect.factorChange {
            case .local(let dialect): try await self.removeBiometryFactor(dialect)
            case .agreed(let dialect): try await self.removeBiometryFactor(dialect)
            }
        }
    }
}
