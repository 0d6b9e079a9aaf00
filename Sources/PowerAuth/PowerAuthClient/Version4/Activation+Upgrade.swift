import Coordination
package import PowerAuthCrypto
package import PowerAuthProtocol

extension Activation {
    /// Upgrades a version 3 activation to protocol version 4, permanently.
    package func moveToVersion4(
        password: SecretBytes,
        biometryKey: SecretBytes? = nil,
        suite: AlgorithmSuite? = nil
    ) async throws {
        try Password.validate(password)
        if let biometryKey { try BiometryUnlockKey.validate(biometryKey) }
        let suite = suite ?? self.server.configuration.suite
        let protection = NewKeyProtection(
            password: password,
            biometryKey: biometryKey,
            encryptedBiometryKey: try await self.storedRecord().version3?.encryptedBiometryKey
        )
        try await self.withSigningKeys(for: .possessionAndKnowledge(password: password)) { keys in
            try await self.withSigningTurn { turn, caller in
                let record = try await self.storedRecord()
                if let stored = record.version4 {
                    // Another process upgraded it, or an earlier call was interrupted.
                    try await self.adopt(record)
                    guard try await self.isUpgradeAwaited(stored) else { return }
                } else {
                    try await self.startUpgrade(to: suite, keys: keys, protection: protection, in: turn, for: caller)
                }
                try await self.completeUpgrade(in: turn, for: caller)
            }
        }
    }

    /// Returns whether the upgrade's confirmation is pending, according to the store or the server.
    private func isUpgradeAwaited(_ stored: Version4Keys) async throws -> Bool {
        switch stored.pendingConfirmation {
        case .upgrade: true
        case .activation: false
        case nil: try await self.fetchStatus().status.flags.contains(.upgradeAwaitsConfirmation)
        }
    }

    /// Agrees with the server on version 4 keys, and stores them.
    private func startUpgrade(
        to suite: AlgorithmSuite,
        keys: SigningKeys,
        protection: NewKeyProtection,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller
    ) async throws {
        let status = try await self.fetchStatus().status
        guard status.state == .active, status.isUpgradeOffered else {
            throw MobileTokenError(.init("upgradeNotOffered"), "The server does not offer version 4 to this activation")
        }
        // The new keys are protected with the secrets that unlocked the old ones, so the stored ones must match.
        let record = try await self.storedRecord()
        guard let version3 = record.version3, version3.knowledgeSalt == keys.knowledgeSalt else {
            throw OutdatedDialect()
        }
        guard version3.encryptedBiometryKey == protection.encryptedBiometryKey || protection.biometryKey == nil else {
            throw MobileTokenError(.factorOutdated, "The biometry factor has changed in the meantime")
        }
        let hasBiometry = record.keys.hasBiometryFactor
        guard hasBiometry == (protection.biometryKey != nil) else {
            throw MobileTokenError(
                .invalidAuthentication,
                hasBiometry
                    ? "The biometry factor needs its key, or must be removed first" : "There is no biometry factor"
            )
        }
        let newKeys = try NewKeys(suite: suite)
        // From here on, no process that shares the store sends requests for this activation.
        try await self.updateRecord(in: turn) { $0.version3?.isUpgrading = true }
        do {
            try await self.agree(on: newKeys, keys: keys, protection: protection, in: turn, for: caller)
        } catch {
            // After a loss or a refusal the server stays in version 3.
            try? await self.forgetUpgrade(in: turn)
            throw error
        }
    }

    /// Records that the upgrade failed.
    private func forgetUpgrade(in turn: SigningTurn) async throws {
        try await self.updateRecord(in: turn) { $0.version3?.isUpgrading = false }
    }

    private func agree(
        on newKeys: NewKeys,
        keys: SigningKeys,
        protection: NewKeyProtection,
        in turn: SigningTurn,
        for caller: UncancellableTask.Caller
    ) async throws {
        let start = try EndpointRequest(
            .upgradeStart,
            Version4.UpgradeRequest(
                sharedSecretRequest: newKeys.agreement.request,
                devicePublicKeys: newKeys.deviceKeys.publicKeys,
                enableBiometry: protection.biometryKey != nil
            )
        )
        let encryption = self.applicationKeys.version4(newKeys.suite)
        let request = try SignedRequest(start, keys: keys, in: (.v4_0, encryption))
        let response = try await self.exchange(request, in: turn, for: caller)
        let message = try Wire.decode(Version4.NewKeysMessage.self, from: response, of: request.path)
        try await self.keepUpgrade(newKeys, message, path: request.path, protection: protection, in: turn)
    }

    private func keepUpgrade(
        _ newKeys: NewKeys,
        _ message: Version4.NewKeysMessage,
        path: String,
        protection: NewKeyProtection,
        in turn: SigningTurn
    ) async throws {
        // The agreement can be used once, but the store may run the change repeatedly.
        let keys = try newKeys.keys(
            of: self.activationID,
            from: message,
            path: path,
            protection: protection,
            pending: nil,
            randomness: self.server.randomness
        )
        try await self.updateRecord(in: turn) { record in
            guard var version3 = record.version3, let counter = record.counter.version3 else { throw OutdatedDialect() }
            version3.isUpgrading = false
            let before = Version4Keys.Version3State(keys: version3, ledger: record.ledger)
            record.keys = .version4(keys)
            record.version4?.pendingConfirmation = .upgrade(from: before)
            // The ledger as stored, after this turn's signatures: the server followed the last code.
            record.ledger = record.ledger.restarted(
                with: .version4(Version4.HashCounter(data: message.counterData, byte: counter.byte))
            )
        }
        try self.adopt(try await self.storedRecord())
    }

    /// Waits until no process is upgrading the activation, and completes an upgrade that a dead process left. A request sent
    /// before may still be in flight. The server accepts its token until the confirmation.
    nonisolated func waitForUpgrade() async throws {
        guard try await self.isBeingUpgraded() else { return }
        try await self.withSigningTurn { turn, caller in
            let record = try await self.storedRecord()
            try await self.adopt(record)
            guard record.isUpgrading else { return }
            try await self.completeUpgrade(in: turn, for: caller)
        }
    }

    private nonisolated func isBeingUpgraded() async throws -> Bool {
        do {
            return try await MobileTokenError.mapStoreErrors {
                try await self.server.store.isUpgrading(self.activationID)
            }
        } catch let error as MobileTokenError where error.isPassing {
            return false  // polling goes on while the store cannot be reached
        }
    }

    /// Completes an upgrade with a confirmation pending at the server.
    func completePendingUpgrade() async throws {
        try await self.withSigningTurn { turn, caller in
            let record = try await self.storedRecord()
            guard record.version4 != nil else { return }
            try await self.adopt(record)
            try await self.completeUpgrade(in: turn, for: caller)
        }
    }

    /// Confirms an upgrade with stored keys, which needs only possession. Without stored keys, records that it failed.
    func completeUpgrade(in turn: SigningTurn, for caller: UncancellableTask.Caller) async throws {
        guard try await self.storedRecord().version4 != nil else { return try await self.forgetUpgrade(in: turn) }
        let dialect = self.dialect
        let keys = SigningKeys(dialect: dialect, type: .possession, keys: [dialect.possessionKey])
        let request = EndpointRequest(.upgradeConfirm, in: dialect.version)
        do {
            try await self.confirm(SignedRequest(request, keys: keys, isConfirming: true), in: turn, for: caller) {
                $0.serverVersion >= 4 && !$0.status.flags.contains(.upgradeAwaitsConfirmation)
            }
        } catch let refusal as RefusedConfirmation {
            try await self.abandonUpgrade(in: turn)
            throw refusal.error
        }
        try await self.updateRecord(in: turn) { record in
            record.version4?.pendingConfirmation = nil
            record.tokens = [:]  // they are of version 3
        }
        self.forgetTokens()
    }

    /// Returns to version 3 if the server has no version 4 keys. A refusal proves nothing: an attacker could forge it and deliver
    /// the confirmation later. Without its version 4 keys the activation would then be lost.
    private func abandonUpgrade(in turn: SigningTurn) async throws {
        var record = try await self.storedRecord()
        guard case .upgrade(let before)? = record.version4?.pendingConfirmation else { return }
        guard try await self.hasServerForgottenKeys() else { return }
        record.keys = .version3(before.keys)
        let previous = try record.dialect(applicationKeys: self.applicationKeys)
        // The server proves with the version 3 keys that it never upgraded.
        guard let report = try? await self.report(in: previous), report.serverVersion == 3 else { return }
        try await self.updateRecord(in: turn) { record in
            record.keys = .version3(before.keys)
            record.ledger = before.ledger.caughtUp(with: record.ledger)
        }
        try self.adopt(try await self.storedRecord())
    }

    /// Returns whether the server has no version 4 keys of the activation: it then returns no key for the status.
    private func hasServerForgottenKeys() async throws -> Bool {
        do {
            _ = try await self.report(in: self.dialect)
            return false
        } catch let error as MobileTokenError {
            return error.code == .temporaryKeyRefused
        }
    }
}

struct RefusedConfirmation: Error {
    let error: MobileTokenError
}

extension MobileTokenError {
    /// Indicates whether the server said that it did nothing.
    var isRefusal: Bool { self.httpStatus != nil && self.failureKind == .refused }
}
