import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

extension Version4 {
    /// Tokens, which represent the factors of their creation, and the vault.
    enum TokenEndpoints {
        static let routes: [Backend.Route] = [
            .version4(.tokenCreate, adds: .token, "Creates a token.", refusing: Refusal.authentication, Self.create),
            .version4(
                .tokenRemove,
                "Removes a token.",
                takes: .required(.tokenIDRequest),
                gives: .tokenIDResponse,
                Self.remove
            ),
            .device(
                "POST \(Endpoint.vaultUnlock.path)",
                "Hands out a key of the vault.",
                shows: .code,
                takes: .required(.envelope4),
                gives: .sealed4,
                Self.unlockVault
            ),
        ]

        static func create(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            let token = ServerToken(
                id: bank.state.randomness.identifier(),
                secret: bank.state.randomness.secret(TokenResponse.secretByteCount),
                activationID: call.activation.id,
                factors: call.type,
                created: context.now,
                version: .version4
            )
            bank.state.tokens[token.id] = token
            return .encoding(TokenResponse(tokenID: token.id, tokenSecret: token.secret.secret))
        }

        /// Removes a token. An unknown or foreign one is no error, because the first response may have been lost.
        static func remove(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            guard let id = try call.parameters().optionalString("tokenId"), !id.isEmpty else {
                throw .validation("requestObject.tokenId: must not be blank")
            }
            if bank.state.tokens[id]?.activationID == call.activation.id { bank.state.tokens[id] = nil }
            return ["tokenId": .string(id)]
        }

        /// Opens the vault. Unlike other standard endpoints, it opens and reads the envelope before it verifies the code, so that
        /// an invalid envelope moves nothing.
        static func unlockVault(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> ServerResponse {
            let code: RequestCode
            do {
                code = try bank.requestCode(of: &context)
            } catch {
                throw .authentication(error.reason)
            }
            guard code.version == .version4 else {
                throw .authentication("the code is of version \(code.versionName)")
            }
            try context.checkEnvelope(of: code.versionName)
            let (identifier, envelope) = try Self.open(code, &bank, &context)
            let types = bank.protocolRules.typesForVault4(identifier)
            guard types.contains(code.type) else {
                throw .vault("\(identifier.rawValue) is not handed out for \(code.type.rawValue)")
            }
            let demand = SignaturePolicy(uriID: "/pa/vault/unlock", types: types, version: .version4)
            let activation = try bank.authenticate(&context, demand).activation
            guard let vault = activation.device?.version4?.derived.vault else { throw .vault("there are no keys") }
            return .json(
                try envelope.seal(.encoding(VaultResponse(vaultEncryptionKey: vault.key(identifier))), &context)
            )
        }

        /// Opens and reads the request for a key.
        private static func open(
            _ code: RequestCode,
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (VaultKeyIdentifier, OpenedEnvelope) {
            do throws(Refusal) {
                let envelope = try Version4.open(for: code, .vaultUnlock, bank, &context)
                bank.remember(envelope, at: context.now)
                let content = try envelope.content()
                try content.refuseMembers(except: ["keyIdentifier", "reason"])
                guard let identifier = VaultKeyIdentifier(rawValue: try content.string("keyIdentifier")) else {
                    throw .vault("the key is unknown")
                }
                try Vault.check(reason: content.optionalString("reason"))
                return (identifier, envelope)
            } catch {
                throw .vault(error.reason)
            }
        }
    }
}
