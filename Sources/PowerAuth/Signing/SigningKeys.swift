import PowerAuthCrypto
import PowerAuthProtocol

/// The unlocked keys of one signature, in the order the protocol chains them.
struct SigningKeys: Sendable {
    let type: SignatureType
    let keys: [SecretBytes]
}

extension Activation {
    /// Unlocks the keys that `authentication` asks for.
    ///
    /// Takes PBKDF2's milliseconds when a password is involved, on the threads of ``DerivationQueue``, so it comes before the
    /// gate. Doing so is safe: a change of password protects the same knowledge key anew and never replaces it.
    @concurrent
    nonisolated func signingKeys(for authentication: Authentication) async throws -> SigningKeys {
        let possession = self.identity.possessionKey
        switch (authentication.knowledge, authentication.biometryKey) {
        case (nil, nil):
            return SigningKeys(type: .possession, keys: [possession])
        case (.some(let knowledge), nil):
            let key = try await self.knowledgeKey(knowledge)
            return SigningKeys(type: .possessionKnowledge, keys: [possession, key])
        case (nil, .some(let unlockKey)):
            return SigningKeys(type: .possessionBiometry, keys: [possession, try await self.biometryKey(unlockKey)])
        case (.some(let knowledge), .some(let unlockKey)):
            let key = try await self.knowledgeKey(knowledge)
            let biometry = try await self.biometryKey(unlockKey)
            return SigningKeys(type: .possessionKnowledgeBiometry, keys: [possession, key, biometry])
        }
    }

    private nonisolated func knowledgeKey(_ knowledge: Authentication.Knowledge) async throws -> SecretBytes {
        switch knowledge {
        case .unlocked(let factor):
            guard factor.activationID == self.activationID else {
                throw MobileTokenError(.invalidAuthentication, "The factor was unlocked for another activation")
            }
            return factor.key
        case .password(let password):
            try Password.validate(password)
            let record = try await self.storedRecord()
            return try await self.server.derivations.run {
                try MobileTokenError.mapCryptoErrors {
                    try KnowledgeKeyProtection.unprotect(
                        record.encryptedKnowledgeKey,
                        password: password,
                        salt: record.knowledgeSalt
                    )
                }
            }
        }
    }

    private nonisolated func biometryKey(_ unlockKey: SecretBytes) async throws -> SecretBytes {
        guard let encrypted = try await self.storedRecord().encryptedBiometryKey else {
            throw MobileTokenError(.invalidAuthentication, "The biometry factor is not set up")
        }
        return try MobileTokenError.mapCryptoErrors { try BiometryKeyProtection.unlock(encrypted, with: unlockKey) }
    }
}
