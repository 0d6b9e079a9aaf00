import ExactJSON
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol

@testable import PowerAuth

extension VerifyingServer {
    /// Verifies the signature of a request, counts what counts as a failure, and moves the counter on success.
    func verify(_ request: HTTPRequest, _ uriID: String, _ state: inout State, factors: Int = 1) throws -> String {
        guard let header = try? SignatureHeader(parsing: request.headers[SignatureHeader.name]),
            header.applicationKey == self.configuration.applicationKey,
            var activation = state.activations[header.activationID], activation.state == .active,
            header.version == activation.applicationVersion
        else { throw Refusal.authentication }
        guard header.type.factors.count >= factors else { throw Refusal.authentication }
        let verifier = SignatureVerifier(
            SignatureData(method: "POST", uriID: uriID, nonce: header.nonce, body: request.body ?? []),
            keys: activation.keys.keys(for: header.type),
            secret: .online(self.configuration.applicationSecret)
        )
        defer { state.activations[header.activationID] = activation }
        guard
            let match = verifier.match(
                online: header.signature,
                counter: activation.counter,
                lookAhead: Self.lookAhead
            )
        else {
            if header.type != .possession {
                activation.failedAttempts += 1
                if activation.failedAttempts >= Self.maxFailedAttempts { activation.state = .blocked }
            }
            throw Refusal.authentication
        }
        activation.counter = match.nextCounter
        if header.type != .possession { activation.failedAttempts = 0 }
        return header.activationID
    }

    func encryptionHeader(_ request: HTTPRequest, _ scope: EncryptionScope) throws -> EncryptionHeader {
        guard let header = try? EncryptionHeader(parsing: request.headers[EncryptionHeader.name], scope: scope),
            header.applicationKey == self.configuration.applicationKey
        else { throw Refusal.encryption }
        return header
    }

    /// Opens the envelope, verifies the signature over it, and seals the answer.
    func signedAndEncrypted(
        _ request: HTTPRequest,
        _ uriID: String,
        _ path: ECIESPurpose,
        _ state: inout State,
        factors: Int = 1,
        _ answer: (String, JSONValue, ServerActivation) throws -> JSONValue
    ) throws -> [UInt8] {
        guard request.headers[EncryptionHeader.name] == nil else { throw Refusal.invalidRequest }
        guard let signature = try? SignatureHeader(parsing: request.headers[SignatureHeader.name]) else {
            throw Refusal.authentication
        }
        let header = EncryptionHeader(
            applicationKey: signature.applicationKey,
            activationID: signature.activationID,
            version: signature.version
        )
        let sealed = try JSONDecoder().decode(ECIESRequest.self, from: Data(request.body ?? []))
        // A bad envelope moves nothing.
        var decryptor = try self.decryptor(header, path, request.body ?? [], signature.activationID, state)
        guard let plaintext = try? decryptor.decryptRequest(sealed) else { throw Refusal.encryption }
        try self.refuseReplay(of: sealed, &state)
        let id = try self.verify(request, uriID, &state, factors: factors)
        guard let activation = state.activations[id] else { throw Refusal.authentication }
        return try self.seal(try answer(id, try JSONValue(parsing: plaintext), activation), &decryptor)
    }

    /// Opens the envelope of a request that is not signed, and seals the answer.
    func encrypted(
        _ request: HTTPRequest,
        _ path: ECIESPurpose,
        scope: EncryptionScope,
        _ state: inout State,
        _ answer: (JSONValue) throws -> JSONValue
    ) throws -> [UInt8] {
        let header = try self.encryptionHeader(request, scope)
        let sealed = try JSONDecoder().decode(ECIESRequest.self, from: Data(request.body ?? []))
        var decryptor = try self.decryptor(header, path, request.body ?? [], header.activationID, state)
        guard let plaintext = try? decryptor.decryptRequest(sealed) else { throw Refusal.encryption }
        try self.refuseReplay(of: sealed, &state)
        return try self.seal(try answer(try JSONValue(parsing: plaintext)), &decryptor)
    }

    func decryptor(
        _ header: EncryptionHeader,
        _ path: ECIESPurpose,
        _ body: [UInt8],
        _ activationID: String?,
        _ state: State
    ) throws -> ECIESServerExchange {
        let sealed = try JSONDecoder().decode(ECIESRequest.self, from: Data(body))
        let activation = try activationID.map { id in
            guard let activation = state.activations[id] else { throw Refusal.authentication }
            return activation
        }
        let key: P256PrivateKey
        if header.version.usesTemporaryKeys {
            guard let id = sealed.temporaryKeyID, let temporary = state.temporaryKeys[id],
                temporary.activationID == activationID, temporary.expiresAt > self.milliseconds
            else { throw Refusal.temporaryKey }
            key = temporary.key
        } else {
            key = activation?.privateKey ?? self.masterKey
        }
        if header.version.usesTimestamps {
            guard let timestamp = sealed.timestamp, timestamp <= self.milliseconds + 60_000 else {
                throw Refusal.encryption
            }
        }
        let parameters = ECIESParameters(
            version: header.version,
            applicationKey: header.applicationKey,
            applicationSecret: self.configuration.applicationSecret,
            scope: activation.map { .activation(id: activationID ?? "", transportKey: $0.keys.transport) }
                ?? .application,
            purpose: path,
            temporaryKeyID: sealed.temporaryKeyID
        )
        return ECIESServerExchange(parameters: parameters, privateKey: key)
    }

    func refuseReplay(of request: ECIESRequest, _ state: inout State) throws {
        guard state.seenEnvelopes.insert(request.nonce + request.ephemeralPublicKey).inserted else {
            throw Refusal.encryption
        }
    }

    func seal(_ answer: JSONValue, _ decryptor: inout ECIESServerExchange) throws -> [UInt8] {
        let sealed = try decryptor.encryptResponse(
            answer.serialized(),
            nonce: SecureRandom.bytes(16),
            timestamp: self.milliseconds
        )
        return Array(try JSONEncoder().encode(sealed))
    }
}
