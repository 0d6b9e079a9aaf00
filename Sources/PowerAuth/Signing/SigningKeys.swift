import PowerAuthCrypto
import PowerAuthProtocol

/// The unlocked keys of one signature, in the order the protocol chains them.
struct SigningKeys: Sendable {
    /// The dialect that the keys sign in.
    let dialect: any ActivationDialect
    /// The state of the knowledge key that these hold; `nil` when they hold none. See
    /// ``ActivationDialect/knowledgeGeneration(of:)``.
    var knowledgeGeneration: [UInt8]?
    let type: SignatureType
    let keys: [SecretBytes]

    /// Throws unless these may sign now.
    ///
    /// - Throws: ``OutdatedDialect``, ``AwaitingConfirmation``.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws {
        try self.dialect.checkUse(of: record, isConfirming: isConfirming)
        guard let generation = self.knowledgeGeneration else { return }
        guard generation == self.dialect.knowledgeGeneration(of: record) else { throw OutdatedDialect() }
    }
}

extension Activation {
    /// Runs `body` with the keys that `authentication` asks for, and once more when they have been replaced meanwhile, here or by
    /// another process: the password was changed, or the activation upgraded.
    ///
    /// - Parameter dialect: The only one that `body` makes sense in, if there is one.
    nonisolated func withSigningKeys<Value: Sendable>(
        for authentication: Authentication,
        in dialect: (any ActivationDialect)? = nil,
        _ body: (SigningKeys) async throws -> Value
    ) async throws -> Value {
        while true {
            do {
                let keys = try await self.signingKeys(for: authentication)
                if let dialect, keys.dialect !== dialect {
                    throw MobileTokenError(
                        .invalidRequest,
                        "The activation was upgraded in the meantime; repeat the call"
                    )
                }
                return try await body(keys)
            } catch is OutdatedDialect {
                try await self.adopt(try await self.storedRecord())
                guard case .unlocked? = authentication.knowledge else { continue }
                throw MobileTokenError(.factorOutdated, "The knowledge factor has changed since it was unlocked")
            }
        }
    }

    /// Unlocks the keys that `authentication` asks for.
    ///
    /// Takes PBKDF2's milliseconds when a password is involved, on the threads of ``DerivationQueue``, so it comes before the
    /// gate. What has changed until then is noticed when the counter is moved; see ``SigningKeys/checkUse(of:isConfirming:)``.
    @concurrent
    nonisolated func signingKeys(for authentication: Authentication) async throws -> SigningKeys {
        let dialect = self.dialect
        let type = SignatureType(authentication)
        try dialect.check(type)
        var keys = [dialect.possessionKey]
        var generation: [UInt8]?
        if let knowledge = authentication.knowledge {
            let factor = try await self.knowledgeFactor(knowledge, dialect)
            keys.append(factor.key)
            generation = factor.generation
        }
        if let unlockKey = authentication.biometryKey {
            keys.append(try dialect.biometryKey(of: try await self.storedRecord(), unlockedWith: unlockKey))
        }
        return SigningKeys(dialect: dialect, knowledgeGeneration: generation, type: type, keys: keys)
    }

    private nonisolated func knowledgeFactor(
        _ knowledge: Authentication.Knowledge,
        _ dialect: any ActivationDialect
    ) async throws -> UnlockedFactor {
        switch knowledge {
        case .unlocked(let factor):
            guard factor.activationID == self.activationID else {
                throw MobileTokenError(.invalidAuthentication, "The factor was unlocked for another activation")
            }
            return factor
        case .password(let password):
            try Password.validate(password)
            let record = try await self.storedRecord()
            let key = try await self.server.derivations.run {
                try dialect.knowledgeKey(of: record, password: password)
            }
            return UnlockedFactor(
                activationID: self.activationID,
                key: key,
                generation: dialect.knowledgeGeneration(of: record)
            )
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
