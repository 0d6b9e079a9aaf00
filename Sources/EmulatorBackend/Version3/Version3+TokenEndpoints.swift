import APIDescriptions
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
            let demand = CodeDemand(uriID: "/pa/token/create", types: .onlineFactors, version: .version3)
            let (request, envelope) = try bank.authenticateEncrypted(
                &context,
                purpose: .tokenCreate,
                demand,
                refusing: Refusal.tokenError
            )
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
            let id = try context.requestObject(bank.profile, missing: Refusal.requestInvalid)
                .string("tokenId", bank.profile, missing: Refusal.requestInvalid)
            if bank.state.tokens[id]?.activationID == activation.id { bank.state.tokens[id] = nil }
            return .object(["tokenId": .string(id)])
        }

        static func unlockVault(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
            -> ServerResponse
        {
            let (request, envelope) = try Self.receiveVaultRequest(&bank, &context)
            guard let keys = request.activation.device?.version3?.derived,
                let wrapped = try? Vault.encrypt(vaultKey: keys.vault, transportKey: keys.transport)
            else { throw .vault("the keys do not fit") }
            let response: JSONValue = ["encryptedVaultEncryptionKey": .string(Base64.encode(wrapped))]
            return .json(try bank.seal(response, in: envelope, &context))
        }

        /// The vault is the exception among the standard endpoints: the envelope is opened and read before the signature is
        /// looked at, so that what is wrong with it moves nothing.
        private static func receiveVaultRequest(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (AuthenticatedRequest, OpenedEnvelope) {
            let demand = CodeDemand(
                uriID: "/pa/vault/unlock",
                types: bank.profile.typesForVault3(bank.protocolRules),
                version: .version3
            )
            let code: RequestCode
            do {
                code = try bank.requestCode(of: &context)
            } catch {
                throw bank.refusal(error)
            }
            guard code.version == .version3 else {
                throw .requestInvalid("the signature is of version \(code.versionName)")
            }
            try context.checkEnvelope(of: code.versionName)
            do {
                _ = try bank.activation(admittedBy: demand, for: code)
            } catch {
                throw bank.refusal(error)
            }
            let envelope: OpenedEnvelope
            do throws(Refusal) {
                envelope = try bank.open(for: code, .vaultUnlock, &context)
                bank.remember(envelope, at: context.now)
            } catch {
                throw .vault(error.reason)
            }
            try Self.check(envelope, bank)
            guard demand.types.contains(code.type) else {
                throw .vault("\(code.type.rawValue) does not open the vault")
            }
            return (try bank.authenticate(&context, demand), envelope)
        }

        private static func check(_ envelope: OpenedEnvelope, _ bank: Backend) throws(Refusal) {
            let reason: String?
            do throws(Refusal) {
                let content = try envelope.json()
                try content.refuseMembers(except: ["reason"])
                reason = try content.optionalString("reason")
            } catch {
                throw bank.refusal(AuthenticationFailure(error.reason))
            }
            try Vault.check(reason: reason)
        }
    }
}

extension Vault {
    /// Throws when a reason that a device gives for opening the vault is not of its form. It may give none.
    static func check(reason: String?) throws(Refusal) {
        guard let reason, !VaultReason.isValid(reason) else { return }
        throw .vault("the reason has other characters than A-Z, a-z, 0-9, '_', '-' and '.', or is too short")
    }
}
