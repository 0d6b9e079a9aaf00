import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol

@testable import PowerAuth

extension VerifyingServer {
    static let baseURL = "https://server.test/enrollment-server"

    func handle(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        let path = request.url.dropFirst(Self.baseURL.count)
        let body = request.body ?? []
        switch path {
        case "/pa/v3/status":
            return Self.ok(["serverTime": .number(JSONNumber(self.milliseconds))])
        case "/pa/v3/keystore/create":
            return try self.createTemporaryKey(body, &state)
        case "/pa/v3/activation/create":
            return try self.createActivation(request, &state)
        case "/pa/v3/activation/status":
            return try self.status(body, state)
        case "/pa/v3/activation/remove":
            let id = try self.verify(request, "/pa/activation/remove", &state, factors: 2)
            state.activations[id]?.state = .removed
            return Self.ok([:])
        case "/pa/v3/signature/validate":
            _ = try self.verify(request, "/pa/signature/validate", &state)
            return Self.ok([:])
        case "/pa/v3/token/create":
            return try self.createToken(request, &state)
        case "/pa/v3/token/remove":
            let id = try self.verify(request, "/pa/token/remove", &state)
            let tokenID = try Self.member(body, "tokenId")
            if state.tokens[tokenID]?.activationID == id { state.tokens[tokenID] = nil }
            return Self.ok([:])
        case "/pa/v3/vault/unlock":
            return try self.signedAndEncrypted(request, "/pa/vault/unlock", .vaultUnlock, &state, factors: 2) {
                id,
                _,
                activation in
                let key = try Vault.encrypt(vaultKey: activation.keys.vault, transportKey: activation.keys.transport)
                return ["activationId": .string(id), "encryptedVaultEncryptionKey": .string(Base64.encode(key))]
            }
        case "/pa/v3/recovery/confirm":
            return try self.signedAndEncrypted(request, "/pa/recovery/confirm", .recoveryConfirm, &state, factors: 2) {
                _,
                plaintext,
                _ in
                ["alreadyConfirmed": .bool(plaintext["recoveryCode"]?.string == "USED")]
            }
        case "/pa/v3/user/info":
            return try self.encrypted(request, .genericActivation, scope: .activation, &state) { _ in
                ["sub": "user-1", "given_name": "Ada"]
            }
        case "/api/signed":
            _ = try self.verify(request, "/signed", &state)
            state.accepted.append(try Self.member(body, "id"))
            return Self.ok(["done": true])
        case "/api/token":
            try self.verifyToken(request, state)
            return Self.ok(["done": true])
        case "/api/sealed":
            return try self.signedAndEncrypted(request, "/sealed", .genericActivation, &state) { _, plaintext, _ in
                ["status": "OK", "responseObject": ["echo": plaintext["requestObject"] ?? .null]]
            }
        case "/api/encrypted/application":
            return try self.encrypted(request, .genericApplication, scope: .application, &state) { plaintext in
                ["status": "OK", "responseObject": ["echo": plaintext["requestObject"] ?? .null]]
            }
        case "/api/encrypted/activation":
            return try self.encrypted(request, .genericActivation, scope: .activation, &state) { plaintext in
                ["status": "OK", "responseObject": ["echo": plaintext["requestObject"] ?? .null]]
            }
        case "/api/encrypted/token":
            try self.verifyToken(request, state)
            return try self.encrypted(request, .genericActivation, scope: .activation, &state) { plaintext in
                ["status": "OK", "responseObject": ["echo": plaintext["requestObject"] ?? .null]]
            }
        case "/api/refused":
            _ = try self.verify(request, "/refused", &state)
            throw Refusal(status: 401, code: "POWERAUTH_AUTH_FAIL")
        default:
            throw Refusal(status: 404, code: "NOT_FOUND")
        }
    }

    static func ok(_ object: JSONValue) -> [UInt8] {
        let answer: JSONValue = ["status": "OK", "responseObject": object]
        return answer.serialized()
    }

    static func member(_ body: [UInt8], _ name: String) throws -> String {
        guard let text = try JSONValue(parsing: body)["requestObject"]?[name]?.string else {
            throw Refusal.invalidRequest
        }
        return text
    }

    // MARK: Activation

    private func createActivation(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        let header = try self.encryptionHeader(request, .application)
        var outer = try self.decryptor(header, .genericApplication, request.body ?? [], nil, state)
        let outerRequest = try JSONDecoder().decode(ECIESRequest.self, from: Data(request.body ?? []))
        try self.refuseReplay(of: outerRequest, &state)
        let layer = try JSONValue(parsing: outer.decryptRequest(outerRequest))
        state.lastActivationRequest = layer
        switch layer["type"]?.string {
        case "CODE":
            guard let code = layer["identityAttributes"]?["code"]?.string, state.codes.remove(code) != nil else {
                throw Refusal.activation
            }
        case "RECOVERY", "CUSTOM":
            guard layer["identityAttributes"]?["login"]?.string != "nobody" else { throw Refusal.activation }
        default: throw Refusal.invalidRequest
        }
        guard let innerBytes = layer["activationData"]?.serialized() else { throw Refusal.invalidRequest }
        var inner = try self.decryptor(header, .activation, innerBytes, nil, state)
        let innerRequest = try JSONDecoder().decode(ECIESRequest.self, from: Data(innerBytes))
        let data = try JSONValue(parsing: inner.decryptRequest(innerRequest))
        guard let point = data["devicePublicKey"]?.string.flatMap({ Base64.decode($0) }),
            data["platform"]?.string != nil, data["deviceInfo"]?.string != nil,
            self.requiredOTP == nil || data["activationOtp"]?.string == self.requiredOTP
        else { throw Refusal.activation }

        let id = UUID().uuidString.lowercased()
        let privateKey = P256PrivateKey.generate()
        let devicePublicKey = try P256PublicKey(x963: point)
        let counter = SecureRandom.secret(16)
        state.activations[id] = ServerActivation(
            privateKey: privateKey,
            devicePublicKey: devicePublicKey,
            keys: try ActivationKeys(privateKey: privateKey, publicKey: devicePublicKey),
            applicationVersion: header.version,
            name: data["activationName"]?.string,
            state: self.commitsAtOnce ? .active : .pendingCommit,
            counter: HashCounter(data: counter)
        )
        let innerAnswer: JSONValue = [
            "activationId": .string(id),
            "serverPublicKey": .string(Base64.encode(privateKey.publicKey.uncompressed)),
            "ctrData": .string(Base64.encode(counter)),
            "activationRecovery": ["recoveryCode": "RECOVERY-1", "puk": "0123456789"],
        ]
        let outerAnswer: JSONValue = [
            "activationData": try JSONValue(parsing: self.seal(innerAnswer, &inner)),
            "customAttributes": layer["customAttributes"] ?? .null,
            "userInfo": ["sub": "user-1"],
        ]
        return try self.seal(outerAnswer, &outer)
    }

    private func status(_ body: [UInt8], _ state: State) throws -> [UInt8] {
        let id = try Self.member(body, "activationId")
        guard let challenge = Base64.decode(try Self.member(body, "challenge")), challenge.count == 16,
            let activation = state.activations[id]
        else { throw Refusal.activation }
        let nonce = SecureRandom.bytes(16)
        let blob = ActivationStatusBlob(
            state: activation.state,
            currentVersion: activation.protocolVersion,
            counterByte: activation.counter.byte,
            failedAttempts: UInt8(activation.failedAttempts),
            maxFailedAttempts: UInt8(Self.maxFailedAttempts),
            lookAhead: UInt8(Self.lookAhead),
            counterHash: try activation.counter.hash(transportKey: activation.keys.transport)
        )
        let encrypted = try blob.encrypted(
            transportKey: activation.keys.transport,
            challenge: challenge,
            nonce: nonce
        )
        return Self.ok([
            "activationId": .string(id),
            "encryptedStatusBlob": .string(Base64.encode(encrypted)),
            "nonce": .string(Base64.encode(nonce)),
            "customObject": ["note": "x"],
        ])
    }

    // MARK: Tokens

    private func createToken(_ request: HTTPRequest, _ state: inout State) throws -> [UInt8] {
        let tokenID = UUID().uuidString.lowercased()
        let secret = SecureRandom.secret(16)
        var owner = ""
        let answer = try self.signedAndEncrypted(request, "/pa/token/create", .tokenCreate, &state) { id, _, _ in
            owner = id
            return ["tokenId": .string(tokenID), "tokenSecret": .string(Base64.encode(secret))]
        }
        state.tokens[tokenID] = Token(activationID: owner, secret: secret)
        return answer
    }

    private func verifyToken(_ request: HTTPRequest, _ state: State) throws {
        guard let header = try? TokenHeader(parsing: request.headers[TokenHeader.name]),
            let token = state.tokens[header.tokenID], state.activations[token.activationID]?.state == .active,
            header.isValid(secret: token.secret),
            (self.milliseconds - 7_200_000...self.milliseconds + 60_000).contains(header.timestamp)
        else { throw Refusal.authentication }
    }

    // MARK: Temporary keys

    private func createTemporaryKey(_ body: [UInt8], _ state: inout State) throws -> [UInt8] {
        let unverified = try TemporaryKeyRequest.Unverified(jwt: try Self.member(body, "jwt"))
        guard unverified.applicationKey == self.configuration.applicationKey else { throw Refusal.temporaryKey }
        let activation = try unverified.activationID.map { id in
            guard let activation = state.activations[id] else { throw Refusal.temporaryKey }
            return activation
        }
        let request = try unverified.verified(
            applicationSecret: self.configuration.applicationSecret,
            transportKey: activation?.keys.transport
        )
        let key = P256PrivateKey.generate()
        let id = UUID().uuidString.lowercased()
        let issuedAt = self.milliseconds
        state.temporaryKeys[id] = (key, unverified.activationID, issuedAt + 300_000)
        let response = TemporaryKeyResponse(
            keyID: id,
            publicKey: key.publicKey,
            issuedAt: issuedAt,
            expiresAt: issuedAt + 300_000
        )
        let jwt = try response.jwt(signedBy: activation?.privateKey ?? self.masterKey, answering: request)
        return Self.ok(["jwt": .string(jwt)])
    }
}
