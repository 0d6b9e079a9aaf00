import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version4 {
    /// Tokens, which stand for the factors that they were created with, and the vault.
    enum TokenEndpoints {
        static let routes: [Backend.Route] = [
            .version4(.tokenCreate, adds: .token, "Creates a token.", Self.create),
            .version4(
                .tokenRemove,
                "Removes a token.",
                takes: .required(.tokenIDRequest),
                gives: .tokenIDResponse,
                Self.remove
            ),
            .version4(.vaultUnlock, "Hands out a key of the vault.", Self.unlockVault),
        ]

        static func create(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            _ = try call.parameters()
            guard let type = call.type else { return nil }
            let token = ServerToken(
                id: bank.state.randomness.identifier(),
                secret: bank.state.randomness.secret(TokenResponse.secretByteCount),
                activationID: call.activation.id,
                factors: type,
                created: context.now,
                version: .version4
            )
            bank.state.tokens[token.id] = token
            return .encoding(TokenResponse(tokenID: token.id, tokenSecret: token.secret.secret))
        }

        /// Removing what is not there, or what is another's, changes nothing and is no mistake: the first response may have
        /// been lost.
        static func remove(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            guard let id = try call.parameters().optionalString("tokenId"), !id.isEmpty else {
                throw .validation("'tokenId' is missing")
            }
            if bank.state.tokens[id]?.activationID == call.activation.id { bank.state.tokens[id] = nil }
            return ["tokenId": .string(id)]
        }

        static func unlockVault(
            _ bank: inout Backend,
            _ call: Call,
            _ context: inout RequestContext
        ) throws(Refusal) -> JSONValue? {
            guard let request = try call.parameters().message(VaultRequest.self) else {
                throw .vault("the key is unknown, or the reason is not of its form")
            }
            let types = request.keyIdentifier.allowedTypes.map(\.rawValue)
            guard let type = call.type, types.contains(type.rawValue) else {
                let reason = "\(request.keyIdentifier.rawValue) is not handed out for these factors"
                throw AuthenticationDialect.powerAuth.refusal(AuthenticationFailure(.factors, reason))
            }
            return .encoding(VaultResponse(vaultEncryptionKey: call.keys.derived.vault.key(request.keyIdentifier)))
        }
    }
}
