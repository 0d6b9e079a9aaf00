import PowerAuthCrypto
import PowerAuthProtocol

/// Changes of factors in version 4, by agreement with the server on new keys.
extension Activation {
    /// Agrees with the server on a new knowledge key, protects it with the new password, and proves it. The server accepts both
    /// keys until one is used, and the device keeps both until it knows which. So either the old or the new password works,
    /// whatever gets lost. If the agreement fails, the old one stays valid.
    func changePassword(_ dialect: Version4Dialect, from old: SecretBytes, to new: SecretBytes) async throws {
        try await self.agree(
            by: .passwordChange,
            in: dialect,
            with: .possessionAndKnowledge(password: old)
        ) { key, keys in
            let protected = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.protectedKnowledgeKey(key, password: new)
            }
            return { $0.add(protected, agreedOnBy: keys) }
        }
        try await self.prove(.possessionAndKnowledge(password: new), .newPassword, in: dialect) {
            $0.preferOtherKnowledgeKey()
        }
    }

    /// Agrees with the server on a biometry key, and proves it. A replaced key is kept until then.
    func addBiometryFactor(_ dialect: Version4Dialect, key unlockKey: SecretBytes, password: SecretBytes) async throws {
        try await self.agree(
            by: .biometryAdd,
            in: dialect,
            with: .possessionAndKnowledge(password: password)
        ) { key, keys in
            let wrapped = try MobileTokenError.mapCryptoErrors {
                try self.server.randomness.wrappedBiometryKey(key, unlockKey: unlockKey)
            }
            return {
                $0.keepProven(keys)
                $0.add(biometryKey: wrapped)
            }
        }
        try await self.prove(.possessionAndBiometry(key: unlockKey), .newBiometry, in: dialect) {
            $0.preferOtherBiometryKey()
        }
    }

    func removeBiometryFactor(_ dialect: Version4Dialect) async throws {
        try await self.send(with: .possession, in: dialect) { keys in
            try SignedRequest(EndpointRequest(.biometryRemove, in: dialect.version), keys: keys)
        } receive: { response, turn in
            try Acknowledgement.check(response, of: "biometry/remove")
            try await self.updateRecord(in: turn) { record in
                record.version4?.wrappedBiometryKey = nil
                record.version4?.otherBiometryKey = nil
            }
        }
    }

    /// Agrees with the server on another key for a factor, and stores it even after cancellation.
    ///
    /// - Parameter change: Returns the change that stores the key, given the signing keys. The encrypted response proves that the
    ///   server has them.
    private func agree(
        by endpoint: ServerEndpoint,
        in dialect: Version4Dialect,
        with authentication: Authentication,
        change: @escaping @Sendable (SecretBytes, SigningKeys) throws -> @Sendable (inout Version4Keys) -> Void
    ) async throws {
        let path = try endpoint.path(in: dialect.version)
        try await self.withSigningKeys(for: authentication, in: dialect) { keys in
            // One agreement per request: its private keys serve one response.
            let agreement = try PendingAgreement(suite: dialect.algorithms)
            let request = try SignedRequest(EndpointRequest(endpoint, agreement.request), keys: keys)
            try await self.withSigningTurn { turn, caller in
                let response = try await self.exchange(request, in: turn, for: caller)
                let key = try response.read { bytes in
                    let message = try Wire.decode(Version4.SharedSecretResponse.self, from: bytes, of: path)
                    return try agreement.secret(from: message, of: path)
                }
                let change = try change(key, keys)
                try await self.updateRecord(in: turn) { record in
                    if let keys = record.version4 { record.version4 = keys.changed(change) }
                }
            }
        }
    }

    /// Uses a new key once, so that the server drops the old one. If the server is unreachable, that happens later: the new key
    /// becomes the likely one, and the old one is used if it is refused.
    private func prove(
        _ authentication: Authentication,
        _ reason: ValidationReason,
        in dialect: Version4Dialect,
        preferring prefer: @escaping @Sendable (inout Version4Keys) -> Void
    ) async throws {
        try await self.withSigningKeys(for: authentication, .other, in: dialect) { keys in
            let request = try SignedRequest(dialect.validation(for: reason), keys: keys)
            try await self.withSigningTurn { turn, caller in
                do {
                    let response = try await self.exchange(request, in: turn, for: caller)
                    try Acknowledgement.check(response, of: request.path)
                } catch let error as MobileTokenError where error.isPassing {
                    // The signature may have been accepted, which the status would show.
                    await self.keepProven(keys, in: turn)
                }
                try await self.updateRecord(in: turn) { record in
                    if let keys = record.version4 { record.version4 = keys.changed(prefer) }
                }
            }
        }
    }
}
