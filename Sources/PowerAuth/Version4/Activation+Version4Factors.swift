import PowerAuthCrypto
import PowerAuthProtocol

/// Changes of factors in version 4: by agreement with the server on other keys.
extension Activation {
    /// Agrees with the server on another knowledge key, which the new password protects here, and proves it.
    ///
    /// The server takes the old key and the new one until one of them is used, and both are kept here until it has shown which one
    /// that is: whatever is lost or refused, the old password or the new one works. When the agreement is lost, the old one stays.
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

    /// Agrees with the server on a biometry key, and proves it. One that it replaces is kept until then.
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

    /// Agrees with the server on another key of a factor, and keeps it, even when the caller is canceled by then.
    ///
    /// - Parameter change: Returns what to do with the key, given those that signed: the response is encrypted, so the server
    ///   has them.
    private func agree(
        by endpoint: ServerEndpoint,
        in dialect: Version4Dialect,
        with authentication: Authentication,
        change: @escaping @Sendable (SecretBytes, SigningKeys) throws -> @Sendable (inout Version4Keys) -> Void
    ) async throws {
        let path = try endpoint.path(in: dialect.version)
        try await self.withSigningKeys(for: authentication, in: dialect) { keys in
            // Of one request: its private keys serve one response.
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

    /// Uses a new key once, so that the server forgets the old one.
    ///
    /// A server that cannot be reached will do so later: the new key is then taken for the likely one. When the server refuses it,
    /// the old one is.
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
                    // It may have been accepted nevertheless, which the status would show.
                    await self.keepProven(keys, in: turn)
                }
                try await self.updateRecord(in: turn) { record in
                    if let keys = record.version4 { record.version4 = keys.changed(prefer) }
                }
            }
        }
    }
}
