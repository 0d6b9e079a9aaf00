import PowerAuthCrypto
package import PowerAuthProtocol
import Synchronization

/// The unlocked keys of one signature, in the order the protocol chains them.
struct SigningKeys: Sendable {
    /// The dialect that the keys sign in.
    let dialect: any ActivationDialect
    /// The state of the knowledge key that these hold; `nil` when they hold none. See
    /// ``ActivationDialect/knowledgeGeneration(of:)``.
    var knowledgeGeneration: [UInt8]?
    let type: SignatureType
    var keys: [SecretBytes]
    /// The stored keys that the factors were unlocked from; `nil` where they were not.
    var knowledgeSalt: [UInt8]?
    var wrappedBiometryKey: SecretBytes?
    /// Indicates that the factor is being changed, so that the server may take another key of it instead.
    var hasRival = false

    /// Throws unless these may sign now.
    ///
    /// - Throws: ``OutdatedDialect``, ``AwaitingConfirmation``.
    func checkUse(of record: ActivationRecord, isConfirming: Bool) throws {
        try self.dialect.checkUse(of: record, isConfirming: isConfirming)
        guard let generation = self.knowledgeGeneration else { return }
        let generations = [KeyChoice.likely, .other].map { self.dialect.knowledgeGeneration(of: record, $0) }
        guard generations.contains(generation) else { throw OutdatedDialect() }
    }
}

extension Activation {
    /// Runs `body` with the keys that `authentication` asks for, and once more when they have been replaced meanwhile, here or by
    /// another process: the password was changed, or the activation upgraded.
    ///
    /// While a factor is being changed there are two keys of it, and nothing here can tell which of them a password or a key from
    /// outside is for. When the server refuses the likely one, the other is tried, unless that could be the last attempt.
    ///
    /// - Parameter dialect: The only one that `body` makes sense in, if there is one.
    nonisolated func withSigningKeys<Value: Sendable>(
        for authentication: Authentication,
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

    /// Runs `body` with the keys that `authentication` asks for, of two of a factor with the one chosen.
    nonisolated func withSigningKeys<Value: Sendable>(
        for authentication: Authentication,
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

    /// Runs `body` with the dialect of the version that the store has, and once more when the activation was upgraded meanwhile.
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

    /// Unlocks the keys that `authentication` asks for.
    ///
    /// Takes PBKDF2's milliseconds when a password is involved, on the threads of ``DerivationQueue``, so it comes before the
    /// gate. What has changed until then is noticed when the counter is moved; see ``SigningKeys/checkUse(of:isConfirming:)``.
    @concurrent
    nonisolated func signingKeys(for authentication: Authentication, _ choice: KeyChoice) async throws -> SigningKeys {
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
    /// Lets go of the other key of a factor that is being changed, once the server has shown which one it takes.
    ///
    /// An answer in the clear proves nothing. A status does, which is encrypted: its counter has followed the last signature.
    func keepProven(_ keys: SigningKeys, in turn: SigningTurn) async {
        guard let counter = try? await self.fetchStatus().status.counter, counter.result == .inSync,
            counter.distance == 0
        else { return }
        // If it cannot be written now, the next signature finds it out again.
        try? await self.updateRecord(in: turn) { $0.version4?.keepProven(keys) }
    }
}

extension MobileTokenError {
    /// Indicates that a signature was refused which may be accepted with another key of its factor. Never the last attempt: a wrong
    /// password must not cost two when one is left.
    fileprivate var mayBeOfTheOtherKey: Bool {
        self.code == .authenticationFailed && self.remainingAttempts.map { $0 > 1 } ?? false
    }
}

extension SignatureType {
    /// Creates the factors that an authentication signs with.
    package init(_ authentication: Authentication) {
        self =
            switch (authentication.knowledge != nil, authentication.biometryKey != nil) {
            case (false, false): .possession
            case (true, false): .possessionKnowledge
            case (false, true): .possessionBiometry
            case (true, true): .possessionKnowledgeBiometry
            }
    }
}
