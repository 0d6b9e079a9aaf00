import PowerAuthCrypto
import PowerAuthProtocol

/// The unlocked keys of one signature, in the order the protocol chains them.
struct SigningKeys: Sendable {
    /// The dialect that the keys sign in.
    let dialect: any ActivationDialect
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
        let dialect = self.dialect
        let type = SignatureType(authentication)
        try dialect.check(type)
        var keys = [dialect.possessionKey]
        if let knowledge = authentication.knowledge { keys.append(try await self.knowledgeKey(knowledge, dialect)) }
        if let unlockKey = authentication.biometryKey {
            keys.append(try dialect.biometryKey(of: try await self.storedRecord(), unlockedWith: unlockKey))
        }
        return SigningKeys(dialect: dialect, type: type, keys: keys)
    }

    private nonisolated func knowledgeKey(
        _ knowledge: Authentication.Knowledge,
        _ dialect: any ActivationDialect
    ) async throws -> SecretBytes {
        switch knowledge {
        case .unlocked(let factor):
            guard factor.activationID == self.activationID else {
                throw MobileTokenError(.invalidAuthentication, "The factor was unlocked for another activation")
            }
            return factor.key
        case .password(let password):
            try Password.validate(password)
            let record = try await self.storedRecord()
            return try await self.server.derivations.run { try dialect.knowledgeKey(of: record, password: password) }
        }
    }
}

extension SignatureType {
    init(_ authentication: Authentication) {
        self =
            switch (authentication.knowledge != nil, authentication.biometryKey != nil) {
            case (false, false): .possession
            case (true, false): .possessionKnowledge
            case (false, true): .possessionBiometry
            case (true, true): .possessionKnowledgeBiometry
            }
    }
}
