import MobileTokenObserving
import PowerAuthCrypto
package import PowerAuthProtocol
import Synchronization

/// The unlocked keys of one signature, in the protocol's order.
struct SigningKeys: Sendable {
    let dialect: any ActivationDialect
    /// The generation of the knowledge key; `nil` without one. See ``ActivationDialect/knowledgeGeneration(of:)``.
    var knowledgeGeneration: [UInt8]?
    let type: SignatureType
    var keys: [SecretBytes]
    /// The stored keys that the factors were unlocked from; `nil` otherwise.
    var knowledgeSalt: [UInt8]?
    var wrappedBiometryKey: SecretBytes?
    /// Indicates that the factor is being changed, so the server may have another key for it.
    var hasRival = false

    /// Throws ``OutdatedDialect`` or ``AwaitingConfirmation`` unless these keys may sign now.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws {
        try self.dialect.checkUse(of: record, isConfirming: isConfirming)
        guard let generation = self.knowledgeGeneration else { return }
        let generations = [KeyChoice.likely, .other].map { self.dialect.knowledgeGeneration(of: record, $0) }
        guard generations.contains(generation) else { throw OutdatedDialect() }
    }
}

extension Activation {
    /// Runs `body` with the keys for `authentication`, and repeats it if they were replaced meanwhile by a password change or an
    /// upgrade. While a factor is being changed it has two keys, and only the server knows which is valid. If it refuses the
    /// likely one, the other is tried, unless that could be the last attempt.
    ///
    /// - Parameter dialect: The only dialect that `body` is valid in, if any.
    nonisolated func withSigningKeys<Value: Sendable>(
        for authentication: Activation.Authentication,
        in dialect: (any ActivationDialect)? = nil,
        _ body: (SigningKeys) async throws -> Value
    ) async throws -> Value {
        let hasRival = Atomic(false)
        do {
            return try await self.withSigningKeys(for: authentication, .likely, in: dialect) { keys in
                hasRival.store(keys.hasRival, ordering: .relaxed)
                return try await body(keys)
            }
        } catch let error as MobileTokenError where error.mayBeOfTheOtherKey && hasRival.load(ordering: .relaxed) {
            return try await self.withSigningKeys(for: authentication, .other, in: dialect, body)
        }
    }

    /// Runs `body` with the keys for `authentication`, choosing between two keys of a factor.
    nonisolated func withSigningKeys<Value: Sendable>(
        for authentication: Activation.Authentication,
        _ choice: KeyChoice,
        in dialect: (any ActivationDialect)? = nil,
        _ body: (SigningKeys) async throws -> Value
    ) async throws -> Value {
        while true {
            do {
                let keys = try await self.signingKeys(for: authentication, choice)
                if let dialect, keys.dialect !== dialect { throw UpgradedMeanwhile() }
                return try await body(keys)
            } catch is OutdatedDialect {
                try await self.adopt(try await self.storedRecord())
                guard case .unlocked? = authentication.knowledge else { continue }
                throw MobileTokenError(.factorOutdated, "The knowledge factor has changed since it was unlocked")
            }
        }
    }

    /// Runs `body` with the stored dialect, and repeats it if the activation was upgraded meanwhile.
    nonisolated func withStoredDialect<Value: Sendable>(
        _ body: (any ActivationDialect) async throws -> Value
    ) async throws -> Value {
        while true {
            try await self.refresh()
            do {
                return try await body(self.dialect)
            } catch is OutdatedDialect {
            } catch is UpgradedMeanwhile {}
        }
    }

    /// Unlocks the keys for `authentication`. A password takes milliseconds of PBKDF2 on the threads of ``DerivationQueue``, so
    /// this precedes the turn. Later changes are detected when the counter is moved; see
    /// ``SigningKeys/checkUse(of:isConfirming:)``.
    @concurrent
    nonisolated func signingKeys(for authentication: Activation.Authentication, _ choice: KeyChoice) async throws
        -> SigningKeys
    {
        let dialect = self.dialect
        let type = SignatureType(authentication)
        try dialect.check(type)
        var keys = [dialect.possessionKey]
        var unlocked = SigningKeys(dialect: dialect, type: type, keys: [])
        switch authentication.knowledge {
        case nil: break
        case .unlocked(let factor)?:
            guard factor.activationID == self.activationID else {
                throw MobileTokenError(.invalidAuthentication, "The factor was unlocked for another activation")
            }
            keys.append(factor.key)
            unlocked.knowledgeGeneration = factor.generation
        case .password(let password)?:
            try Password.validate(password)
            let record = try await self.storedRecord()
            keys.append(
                try await self.server.derivations.run {
                    try dialect.knowledgeKey(of: record, password: password, choice)
                }
            )
            unlocked.knowledgeGeneration = dialect.knowledgeGeneration(of: record, choice)
            unlocked.knowledgeSalt = record.version3?.knowledgeSalt
            unlocked.hasRival = record.version4?.otherKnowledgeKey != nil
        }
        if let unlockKey = authentication.biometryKey {
            let record = try await self.storedRecord()
            keys.append(try dialect.biometryKey(of: record, unlockedWith: unlockKey, choice))
            unlocked.wrappedBiometryKey = record.version4?.wrappedBiometryKey(choice)
            if record.version4?.otherBiometryKey != nil { unlocked.hasRival = true }
        }
        unlocked.keys = keys
        return unlocked
    }
}

extension Activation {
    /// Drops the other key of a factor that is being changed, once the encrypted status proves which one the server accepts. A
    /// plaintext response proves nothing.
    func keepProven(_ keys: SigningKeys, in turn: SigningTurn) async {
        guard let counter = try? await self.fetchStatus().status.counter, counter.isFollowed else { return }
        // If this write fails, the next signature proves it again.
        try? await self.updateRecord(in: turn) { $0.version4?.keepProven(keys) }
    }
}

extension MobileTokenError {
    /// Indicates a refused signature that another key of the factor may fix. Never the last attempt: a wrong password must not
    /// cost two.
    fileprivate var mayBeOfTheOtherKey: Bool {
        self.code == .authenticationFailed && self.remainingAttempts.map { $0 > 1 } ?? false
    }
}

extension SignatureType {
    package init(_ authentication: Activation.Authentication) {
        self =
            switch (authentication.knowledge != nil, authentication.biometryKey != nil) {
            case (false, false): .possession
            case (true, false): .possessionKnowledge
            case (false, true): .possessionBiometry
            case (true, true): .possessionKnowledgeBiometry
            }
    }
}
