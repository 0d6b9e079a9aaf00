internal import Basics
internal import EmulatorMessages
internal import ExactJSON
internal import PowerAuthCrypto
internal import PowerAuthProtocol

extension Backend {
    mutating func createToken(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let (signature, envelope) = try self.authenticateEncrypted(
            &context,
            path: .tokenCreate,
            uriID: "/pa/token/create",
            allowing: .onlineFactors
        )
        _ = try envelope.json()
        let token = ServerToken(
            id: self.state.randomness.identifier(),
            secret: ExportableSecret(self.state.randomness.secret(16)),
            activationID: signature.activation.id,
            factors: signature.type,
            created: context.now
        )
        let answer: JSONValue = [
            "tokenId": .string(token.id),
            "tokenSecret": .string(Base64.encode(token.secret.secret)),
        ]
        let sealed = try self.seal(answer, in: envelope, at: context.now)
        self.state.tokens[token.id] = token
        return .json(sealed)
    }

    /// Removing what is not there, or what is another's, changes nothing and is no mistake: the first answer may have been
    /// lost.
    mutating func removeToken(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let signature = try self.authenticateSignature(&context, uriID: "/pa/token/remove", allowing: .onlineFactors)
        let id = try context.requestObject().string("tokenId")
        if self.state.tokens[id]?.activationID == signature.activation.id { self.state.tokens[id] = nil }
        return .object(["tokenId": .string(id)])
    }

    mutating func unlockVault(_ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let (signature, envelope) = try self.authenticateEncrypted(
            &context,
            path: .vaultUnlock,
            uriID: "/pa/vault/unlock",
            allowing: .vaultFactors
        )
        if let reason = try envelope.json().optionalString("reason") {
            guard Self.isVaultReason(reason) else {
                throw Refusal(
                    400,
                    "ERR_SECURE_VAULT",
                    "POWER_AUTH_SECURE_VAULT_INVALID",
                    because: "the reason has other characters than A-Z, a-z, 0-9, '_', '-' and '.', or is too short"
                )
            }
        }
        guard let keys = signature.activation.device?.keys,
            let wrapped = try? Vault.encrypt(vaultKey: keys.vault, transportKey: keys.transport)
        else {
            throw Refusal(400, "ERR_SECURE_VAULT", "POWER_AUTH_SECURE_VAULT_INVALID")
        }
        let answer: JSONValue = [
            "activationId": .string(signature.activation.id),
            "encryptedVaultEncryptionKey": .string(Base64.encode(wrapped)),
        ]
        return .json(try self.seal(answer, in: envelope, at: context.now))
    }

    private static func isVaultReason(_ reason: String) -> Bool {
        (3...255).contains(reason.utf8.count)
            && reason.utf8.allSatisfy { $0.isASCIILetterOrDigit || "_-.".utf8.contains($0) }
    }
}
