import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// Tokens, which stand for the factors that they were created with.
    enum TokenEndpoints {
        static let routes: [Backend.Route] = [
            .device(
                "POST",
                "/pa/v3/token/create",
                adds: .token,
                "Creates a token.",
                shows: .code,
                takes: .required(.envelope3),
                gives: .sealed3,
                Self.create
            ),
            .device(
                "POST",
                "/pa/v3/token/remove",
                "Removes a token.",
                shows: .code,
                takes: .required(.tokenIDRequest),
                gives: .tokenIDResponse,
                Self.remove
            ),
            .device(
                "POST",
                "/pa/v3/vault/unlock",
                "Unlocks the vault.",
                shows: .code,
                takes: .required(.envelope3),
                gives: .sealed3,
                Self.unlockVault
            ),
        ]

        static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let (request, envelope) = try bank.authenticateEncrypted(
                &context,
                purpose: .tokenCreate,
                uriID: "/pa/token/create",
                allowing: .onlineFactors
            )
            _ = try envelope.json()
            let token = ServerToken(
                id: bank.state.randomness.identifier(),
                secret: bank.state.randomness.secret(16),
                activationID: request.activation.id,
                factors: request.type,
                created: context.now,
                version: .version3
            )
            let response: JSONValue = [
                "tokenId": .string(token.id),
                "tokenSecret": .string(Base64.encode(token.secret.secret)),
            ]
            let sealed = try bank.seal(response, in: envelope, &context)
            bank.state.tokens[token.id] = token
            return .json(sealed)
        }

        /// Removing what is not there, or what is another's, changes nothing and is no mistake: the first response may have been
        /// lost.
        static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let demand = CodeDemand(uriID: "/pa/token/remove", types: .onlineFactors, version: .version3)
            let activation = try bank.authenticate(&context, demand).activation
            let id = try context.requestObject().string("tokenId")
            if bank.state.tokens[id]?.activationID == activation.id { bank.state.tokens[id] = nil }
            return .object(["tokenId": .string(id)])
        }

        static func unlockVault(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            let (request, envelope) = try bank.authenticateEncrypted(
                &context,
                purpose: .vaultUnlock,
                uriID: "/pa/vault/unlock",
                allowing: [.possessionKnowledge, .possessionKnowledgeBiometry]
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
            guard let keys = request.activation.device?.version3?.derived,
                let wrapped = try? Vault.encrypt(vaultKey: keys.vault, transportKey: keys.transport)
            else {
                throw Refusal(400, "ERR_SECURE_VAULT", "POWER_AUTH_SECURE_VAULT_INVALID")
            }
            let response: JSONValue = ["encryptedVaultEncryptionKey": .string(Base64.encode(wrapped))]
            return .json(try bank.seal(response, in: envelope, &context))
        }

        private static func isVaultReason(_ reason: String) -> Bool {
            (3...255).contains(reason.utf8.count)
                && reason.utf8.allSatisfy { $0.isASCIILetterOrDigit || "_-.".utf8.contains($0) }
        }
    }
}
