import APIDescriptions
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

extension Version3 {
    /// Tokens, which represent the factors of their creation.
    enum TokenEndpoints {
        static let routes: [Backend.Route] = [
            .device(
                "POST /pa/v3/token/create",
                adds: .token,
                "Creates a token.",
                shows: .code,
                takes: .required(.envelope3),
                gives: .sealed3,
                Self.create
            ),
            .device(
                "POST /pa/v3/token/remove",
                "Removes a token.",
                shows: .code,
                takes: .required(.tokenIDRequest),
                gives: .tokenIDResponse,
                Self.remove
            ),
            .device(
                "POST /pa/v3/vault/unlock",
                "Unlocks the vault.",
                shows: .code,
                takes: .required(.envelope3),
                gives: .sealed3,
                Self.unlockVault
            ),
        ]

        static func create(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let demand = SignaturePolicy(version3: "/pa/token/create", types: .onlineFactors)
            let (request, envelope) = try bank.authenticateEncrypted(&context, purpose: .tokenCreate, demand)
            guard demand.types.contains(request.type) else {
                throw .authentication("no token is made with three factors")
            }
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

        /// Removes a token. An unknown or foreign one is no error, because the first response may have been lost.
        static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
            let demand = SignaturePolicy(version3: "/pa/token/remove", types: .onlineFactors)
            let outcome = bank.attempt(&context, demand)
            _ = try context.optionalRequestObject()?.optionalString("tokenId")
            let activation = try outcome.get().activation
            let id = try context.requestObject(bank.profile, missing: Refusal.authentication)
                .string("tokenId", bank.profile, missing: Refusal.authentication)
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

        /// Receives a vault request. Unlike other standard endpoints, the vault opens and reads the envelope before it verifies
        /// the signature, so that an invalid envelope moves nothing.
        private static func receiveVaultRequest(
            _ bank: inout Backend,
            _ context: inout RequestContext
        ) throws(Refusal) -> (AuthenticatedRequest, OpenedEnvelope) {
            let demand = SignaturePolicy(
                uriID: "/pa/vault/unlock",
                types: bank.protocolRules.typesForVault3,
                version: .version3
            )
            let envelope = try ReceivedEnvelope(context.json())
            let code: RequestCode
            do { code = try bank.requestCode(of: &context) } catch { throw .authentication(error.reason) }
            guard let version = ProtocolVersion(rawValue: code.versionName), version.isVersion3 else {
                throw .authentication("the signature is of version \(code.versionName)")
            }
            try envelope.checkMembers(of: version)
            guard demand.types.contains(code.type) else {
                throw .vault("\(code.type.rawValue) does not open the vault")
            }
            let recipient: Recipient
            do throws(AuthenticationFailure) {
                _ = try bank.activation(admittedBy: demand, for: code)
                recipient = try bank.recipient(of: code, .vaultUnlock)
            } catch {
                throw .authentication(error.reason)
            }
            let opened: OpenedEnvelope
            do throws(Refusal) { opened = try bank.open(envelope, recipient, &context) } catch {
                throw .vault(error.reason)
            }
            try Vault.check(reason: Self.reason(in: opened))
            return (try bank.authenticate(&context, demand), opened)
        }

        /// Returns the request's reason, if any. A bare string is one too.
        private static func reason(in envelope: OpenedEnvelope) throws(Refusal) -> String? {
            do throws(Refusal) {
                let content = try JSONValue(reading: envelope.plaintext)
                if content.isNull { return "" }
                if let reason = content.string { return reason }
                guard let object = content.object else { throw .unreadable("the content is no object") }
                return try object.optionalString("reason")
            } catch {
                throw .authentication(error.reason)
            }
        }
    }
}

extension Vault {
    /// Throws if a device's reason for opening the vault has an invalid form. It is optional.
    static func check(reason: String?) throws(Refusal) {
        guard let reason else { return }
        guard VaultReason.isValid(reason) else {
            throw .vault("the reason has other characters than A-Z, a-z, 0-9, '_', '-' and '.', or is too short")
        }
        // The audit column of real servers holds no more.
        guard reason.utf8.count <= 198 else { throw .vault("the reason is longer than 198 characters") }
    }
}
