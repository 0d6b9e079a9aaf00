import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization

/// What the server answers, one function a rule.
extension Version4Server {
    func respond(to request: HTTPRequest, path: String, _ state: inout State) throws -> [UInt8] {
        switch path {
        case Version4.Endpoint.temporaryKey.path: return try self.makeTemporaryKey(request, &state)
        case Version4.Endpoint.activationCreate.path: return try self.createActivation(request, &state)
        case Version4.Endpoint.upgradeStart.path: return try self.startUpgrade(request, &state)
        case Version4.Endpoint.serverStatus.path:
            let names = self.masterKeys.keys.map(\.rawValue).sorted().map { JSONValue.string($0) }
            let status: JSONObject = [
                "serverTime": .number(JSONNumber(self.milliseconds)), "supportedAlgorithms": .array(names),
            ]
            return JSONValue.object(["status": "OK", "responseObject": .object(status)]).serialized()
        case "/api/token":
            try self.checkToken(request, &state)
            return Array(#"{"status":"OK"}"#.utf8)
        case "/api/signed":
            _ = try self.authenticate(request, uriID: "/signed", &state)
            let id = try JSONValue(parsing: request.body ?? [])["requestObject"]?["id"]?.string
            state.accepted.append(id ?? "")
            return Array(#"{"status":"OK"}"#.utf8)
        default: break
        }
        let endpoints: [Version4.Endpoint] = [
            .userInfo, .activationDetail, .activationRename, .activationStatus, .activationConfirm, .activationRemove,
            .validate, .vaultUnlock, .tokenCreate,
            .tokenRemove, .passwordChange, .biometryAdd, .biometryRemove, .upgradeConfirm,
        ]
        guard let endpoint = endpoints.first(where: { $0.path == path }) else {
            throw Refused(status: 404, code: "ERR_NOT_FOUND")
        }
        return try self.respond(to: request, endpoint, &state)
    }

    private func respond(to request: HTTPRequest, _ endpoint: Version4.Endpoint, _ state: inout State) throws -> [UInt8]
    {
        var id = Self.activationID(of: request)
        // The envelope comes first: a bad one moves nothing.
        var opened: (content: [UInt8], exchange: Version4.ServerExchange)?
        if let purpose = endpoint.encryption {
            opened = try self.open(request.body ?? [], activationID: id, purpose: purpose, &state)
        }
        var type = Version4.AuthenticationCodeType.possession
        if endpoint.authentication == .token { try self.checkToken(request, &state) }
        if case .code(let uriID, let types) = endpoint.authentication {
            if let refusal = state.upgradeRefusal, refusal.path == endpoint.path {
                if refusal.forgets, let id { state.accounts[id] = nil }
                throw Refused(status: 400, code: "ERR_UPGRADE")
            }
            (id, type) = try self.authenticate(request, uriID: uriID, &state)
            guard types.contains(type) else { throw Refused.unauthorized }
        }
        guard let id, var account = state.accounts[id] else { throw Refused(status: 400, code: "ERR_ACTIVATION") }
        let content = try opened?.content ?? JSONValue(parsing: request.body ?? [])["requestObject"]?.serialized() ?? []
        let answer = try self.act(endpoint, content, type, id: id, &account)
        state.accounts[id] = account
        guard var exchange = opened?.exchange else {
            return Array(#"{"status":"OK","responseObject":"#.utf8) + answer + Array("}".utf8)
        }
        return try Self.encode(try exchange.encryptResponse(answer, timestamp: self.milliseconds))
    }

    private func act(
        _ endpoint: Version4.Endpoint,
        _ content: [UInt8],
        _ type: Version4.AuthenticationCodeType,
        id: String,
        _ account: inout Account
    ) throws -> [UInt8] {
        switch endpoint {
        case .activationStatus: return try self.status(of: account)
        case .activationConfirm:
            let confirmation = try Self.decode(Version4.ActivationConfirmation.self, content)
            account.flags.remove(.awaitsConfirmation)
            if confirmation.enableBiometry { Self.turnOnBiometry(&account) }
        case .upgradeConfirm:
            account.version = 4
            account.flags.remove(.upgradeAwaitsConfirmation)
        case .activationRemove: account.state = .removed
        case .tokenCreate:
            let token = Version4.TokenResponse(
                tokenID: UUID().uuidString.lowercased(),
                tokenSecret: SecureRandom.secret(32)
            )
            account.tokens[token.tokenID] = token.tokenSecret
            return try Self.encode(token)
        case .tokenRemove:
            let token = try JSONValue(parsing: content)["tokenId"]?.string ?? ""
            account.tokens[token] = nil
        case .vaultUnlock:
            let wanted = try Self.decode(Version4.VaultRequest.self, content)
            guard wanted.keyIdentifier.allowedTypes.contains(type) else { throw Refused.unauthorized }
            let key = account.keys.vault.key(wanted.keyIdentifier)
            return try Self.encode(Version4.VaultResponse(vaultEncryptionKey: key))
        case .passwordChange:
            let (response, secret) = try self.agree(content, account.suite)
            account.factors.knowledge.replace(with: secret)
            return try Self.encode(response)
        case .biometryAdd:
            let (response, secret) = try self.agree(content, account.suite)
            account.factors.biometry.replace(with: secret)
            account.flags.insert(.biometryIsOn)
            return try Self.encode(response)
        case .biometryRemove:
            account.factors.biometry.remove()
            account.flags.remove(.biometryIsOn)
        case .activationRename, .activationDetail:
            account.name = try JSONValue(parsing: content)["activationName"]?.string ?? account.name
            let detail: JSONObject = ["activationId": .string(id), "activationName": .string(account.name)]
            return JSONValue.object(["status": "OK", "responseObject": .object(detail)]).serialized()
        case .userInfo: return Array(#"{"sub":"alice"}"#.utf8)
        default: break
        }
        return Array("{}".utf8)
    }

    private static func turnOnBiometry(_ account: inout Account) {
        account.factors.biometry.replace(with: account.keys.biometry)
        account.flags.insert(.biometryIsOn)
    }

    private func status(of account: Account) throws -> [UInt8] {
        let blob = Version4.ActivationStatusBlob(
            state: account.state,
            currentVersion: account.version,
            flags: account.flags,
            counterByte: account.counter.byte,
            failedAttempts: account.failures,
            maxFailedAttempts: 5,
            lookAhead: 20,
            counterHash: try account.counter.hash(key: account.keys.utility.counterHash)
        )
        return try Self.encode(
            Version4.ActivationStatusResponse(
                activationStatus: try blob.bytes(key: account.keys.utility.status),
                customObject: nil,
                timestampBlockExpire: nil
            )
        )
    }

    private func agree(
        _ content: [UInt8],
        _ suite: AlgorithmSuite
    ) throws -> (Version4.SharedSecretResponse, SecretBytes) {
        let request = try Self.decode(Version4.SharedSecretRequest.self, content)
        try request.checkSuite(activationSuite: suite, allowedSuites: [])
        return try request.agree(ephemeralKey: .generate(), salt: SecureRandom.bytes(32))
    }
}

// MARK: - Making keys

extension Version4Server {
    private func makeTemporaryKey(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        let body = try JSONValue(parsing: request.body ?? [])
        let unverified = try Version4.TemporaryKeyRequest.Unverified(
            jwt: body["requestObject"]?["jwt"]?.string ?? ""
        )
        let account = unverified.activationID.flatMap { state.accounts[$0] }
        guard (unverified.activationID == nil) == (account == nil) else {
            throw Refused(status: 400, code: "ERR_TEMPORARY_KEY")
        }
        let key =
            try account?.keys.utility.temporaryKeyRequest
            ?? Version4.KeyDerivation.temporaryKeyRequestKey(applicationSecret: self.configuration.applicationSecret)
        let wanted = try unverified.verified(key: key)
        let suite = wanted.sharedSecretRequest.suite
        try wanted.sharedSecretRequest.checkSuite(activationSuite: account?.suite, allowedSuites: [])
        guard let signer = account?.serverKeys ?? self.masterKeys[suite] else { throw Refused.encryption }
        let (response, secret) = try wanted.sharedSecretRequest.agree(
            ephemeralKey: .generate(),
            salt: SecureRandom.bytes(32)
        )
        let id = UUID().uuidString.lowercased()
        state.temporaryKeys[id] = TemporaryKey(activationID: unverified.activationID, secret: secret)
        let jws = try Version4.TemporaryKeyResponse(
            keyID: id,
            sharedSecretResponse: response,
            issuedAt: self.milliseconds,
            expiresAt: self.milliseconds + 300_000
        ).jws(signedBy: signer, answering: wanted)
        return JSONValue.object(["status": "OK", "responseObject": ["jwt": .string(jws)]]).serialized()
    }

    private func open(
        _ body: [UInt8],
        activationID: String?,
        purpose: Version4.EncryptionPurpose,
        _ state: inout State
    ) throws -> ([UInt8], Version4.ServerExchange) {
        let request = try Self.decode(Version4.EncryptedRequest.self, body)
        guard let key = state.temporaryKeys[request.temporaryKeyID], request.isFresh(at: self.milliseconds),
            !state.nonces.contains(request.nonce)
        else { throw Refused.encryption }
        let scope: Version4.EncryptionParameters.Scope
        switch purpose.scope {
        case .application: scope = .application
        case .activation:
            guard let activationID, key.activationID == activationID, let account = state.accounts[activationID] else {
                throw Refused.encryption
            }
            scope = .activation(id: activationID, sharedInfo2Key: account.keys.utility.sharedInfo2)
        }
        let parameters = try Version4.EncryptionParameters(
            applicationKey: self.configuration.applicationKey,
            applicationSecret: self.configuration.applicationSecret,
            scope: scope,
            purpose: purpose,
            temporaryKeyID: request.temporaryKeyID,
            temporaryKey: key.secret
        )
        var exchange = Version4.ServerExchange(parameters: parameters)
        guard let content = try? exchange.decryptRequest(request) else { throw Refused.encryption }
        state.nonces.insert(request.nonce)
        return (content, exchange)
    }

    private func createActivation(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        let (bytes, outerExchange) = try self.open(
            request.body ?? [],
            activationID: nil,
            purpose: .genericApplication,
            &state
        )
        var outer = outerExchange
        let layer = try Self.decode(Version4.ActivationRequest.self, bytes)
        var (content, inner) = try self.open(
            try Self.encode(layer.activationData),
            activationID: nil,
            purpose: .activation,
            &state
        )
        guard state.codes.remove(layer.identityAttributes["code"] ?? "") != nil else {
            throw Refused(status: 400, code: "ERR_ACTIVATION")
        }
        let wanted = try Self.decode(Version4.ActivationRequestContent.self, content)
        let id = UUID().uuidString.lowercased()
        let (account, keys) = try self.makeAccount(
            wanted.sharedSecretRequest,
            wanted.devicePublicKeys,
            flags: .awaitsConfirmation
        )
        state.accounts[id] = account
        content = try Self.encode(Version4.ActivationResponseContent(activationID: id, keys: keys))
        let response = Version4.ActivationResponse(
            activationData: try inner.encryptResponse(content, timestamp: self.milliseconds),
            customAttributes: nil,
            userInfo: nil
        )
        return try Self.encode(
            try outer.encryptResponse(try Self.encode(response), timestamp: self.milliseconds)
        )
    }

    private func startUpgrade(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        if let refusal = state.upgradeRefusal, refusal.path == Version4.Endpoint.upgradeStart.path {
            throw Refused(status: 400, code: "ERR_UPGRADE")
        }
        let header = try SignatureHeader(parsing: request.headers[SignatureHeader.name])
        _ = try Version4.EncryptionHeader(
            parsing: request.headers[Version4.EncryptionHeader.name],
            scope: .application
        )
        var (bytes, exchange) = try self.open(request.body ?? [], activationID: nil, purpose: .upgradeStart, &state)
        let wanted = try Self.decode(Version4.UpgradeRequest.self, bytes)
        let (newAccount, keys) = try self.makeAccount(
            wanted.sharedSecretRequest,
            wanted.devicePublicKeys,
            flags: .upgradeAwaitsConfirmation
        )
        var account = newAccount
        account.version = 3
        if wanted.enableBiometry { Self.turnOnBiometry(&account) }
        state.accounts[header.activationID] = account
        bytes = try Self.encode(keys)
        return try Self.encode(try exchange.encryptResponse(bytes, timestamp: self.milliseconds))
    }

    private func makeAccount(
        _ request: Version4.SharedSecretRequest,
        _ deviceKeys: Version4.SigningKeysMessage,
        flags: Version4.ActivationStatusBlob.Flags
    ) throws -> (Account, Version4.NewKeysMessage) {
        let (response, secret) = try request.agree(ephemeralKey: .generate(), salt: SecureRandom.bytes(32))
        let keys = try Version4.ActivationKeys(activationSecret: secret)
        let account = Account(
            flags: flags,
            suite: request.suite,
            keys: keys,
            factors: Version4.ServerFactorKeys(
                possession: keys.possession,
                knowledge: Version4.ReplaceableKey(current: keys.knowledge),
                biometry: Version4.ReplaceableKey(current: nil)
            ),
            counter: Version4.HashCounter(data: SecureRandom.secret(32)),
            serverKeys: try Version4.SigningPrivateKeys(suite: request.suite),
            devicePublicKeys: try deviceKeys.keys(of: request.suite)
        )
        let message = Version4.NewKeysMessage(
            sharedSecretResponse: response,
            serverPublicKeys: account.serverKeys.publicKeys,
            counterData: account.counter.data
        )
        return (account, message)
    }
}

// MARK: - Authentication

extension Version4Server {
    static func activationID(of request: HTTPRequest) -> String? {
        if let header = try? Version4.AuthenticationHeader(parsing: request.headers[Version4.AuthenticationHeader.name])
        {
            return header.activationID
        }
        let header = try? Version4.EncryptionHeader(
            parsing: request.headers[Version4.EncryptionHeader.name],
            scope: .activation
        )
        return header?.activationID
    }

    private func authenticate(
        _ request: HTTPRequest,
        uriID: String,
        _ state: inout State
    ) throws -> (String, Version4.AuthenticationCodeType) {
        let header = try Version4.AuthenticationHeader(parsing: request.headers[Version4.AuthenticationHeader.name])
        guard var account = state.accounts[header.activationID], account.state == .active else {
            throw Refused.unauthorized
        }
        let isConfirming = [Version4.Endpoint.activationConfirm, .upgradeConfirm, .validate].contains {
            request.url.hasSuffix($0.path)
        }
        let awaiting: Version4.ActivationStatusBlob.Flags = [.awaitsConfirmation, .upgradeAwaitsConfirmation]
        guard isConfirming || account.flags.isDisjoint(with: awaiting) else { throw Refused.unauthorized }
        let verifier = Version4.AuthenticationCodeVerifier(keys: account.factors, counter: account.counter)
        let data = SignatureData(method: "POST", uriID: uriID, nonce: header.nonce, body: request.body ?? [])
        let outcome = try verifier.verify(
            online: header.code,
            of: header.type,
            for: data,
            secret: .online(self.configuration.applicationSecret)
        )
        defer { state.accounts[header.activationID] = account }
        switch outcome {
        case .accepted(let match):
            account.counter = match.nextCounter
            account.factors = match.keys
            if header.type.countsFailures { account.failures = 0 }
            return (header.activationID, header.type)
        case .refused:
            if header.type.countsFailures { account.failures += 1 }
            if account.failures >= 5 { account.state = .blocked }
            throw Refused.unauthorized
        case .biometryIsOff: throw Refused.unauthorized
        }
    }

    private func checkToken(_ request: HTTPRequest, _ state: inout State) throws {
        let header = try Version4.TokenHeader(parsing: request.headers[Version4.TokenHeader.name])
        let secret = state.accounts.values.lazy.compactMap { $0.tokens[header.tokenID] }.first
        guard let secret, header.isValid(secret: secret) else { throw Refused.unauthorized }
    }

    static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: [UInt8]) throws -> Value {
        try JSONDecoder().decode(type, from: Data(bytes))
    }

    static func encode(_ value: some Encodable) throws -> [UInt8] { Array(try JSONEncoder().encode(value)) }
}

// MARK: - Offering an upgrade

extension Version4Server {
    /// Offers an upgrade to an activation of version 3, whose status this server then makes by itself.
    func offerUpgrade(to id: String, transportKey: SecretBytes) {
        self.state.withLock { $0.offers[id] = transportKey }
    }

    /// The status of version 3 with the version to upgrade to in it.
    func offer(_ request: HTTPRequest) async throws -> HTTPResponse? {
        let asked = try JSONValue(parsing: request.body ?? [])["requestObject"]
        guard let id = asked?["activationId"]?.string, let key = self.state.withLock({ $0.offers[id] }),
            let challenge = asked?["challenge"]?.string.flatMap({ Base64.decode($0) })
        else { return nil }
        let response = try await self.version3.send(request)
        guard var answer = try JSONValue(parsing: response.body)["responseObject"]?.object,
            let nonce = answer["nonce"]?.string.flatMap({ Base64.decode($0) }),
            let sealed = answer["encryptedStatusBlob"]?.string.flatMap({ Base64.decode($0) })
        else { return response }
        var blob = try ActivationStatusBlob(decrypting: sealed, transportKey: key, challenge: challenge, nonce: nonce)
        blob.upgradeVersion = 4
        let encrypted = try blob.encrypted(transportKey: key, challenge: challenge, nonce: nonce)
        answer["encryptedStatusBlob"] = .string(Base64.encode(encrypted))
        return HTTPResponse(
            status: 200,
            body: JSONValue.object(["status": "OK", "responseObject": .object(answer)]).serialized()
        )
    }
}
