import Coordination
import Foundation
import HTTPClientTransport
import PowerAuthCrypto
import PowerAuthProtocol
import Synchronization

/// The server's public key that requests are encrypted for.
struct EncryptionKey: Sendable {
    /// The identifier of a temporary key; `nil` before version 3.3, where the server's own keys serve.
    let id: String?
    let publicKey: P256PublicKey
}

/// The encryption keys of one scope: fetched when needed, kept until shortly before they expire.
final class EncryptionKeys: Sendable {
    /// For whom requests are encrypted.
    enum Scope: Sendable {
        /// For the application, before there is an activation or beside it.
        case application
        /// For one activation: both sides prove that they know its transport key.
        case activation(id: String, transportKey: SecretBytes, serverPublicKey: P256PublicKey)
    }

    /// A key is not used in the last seconds of its life, so that it does not expire on the way.
    static let margin: Duration = .seconds(10)

    let scope: Scope
    private let version: ProtocolVersion
    private let server: ServerConnection
    private let cache = Mutex<(key: EncryptionKey, usableUntil: Duration)?>(nil)
    private let flight = SingleFlight<EncryptionKey>()

    init(scope: Scope, version: ProtocolVersion, server: ServerConnection) {
        self.scope = scope
        self.version = version
        self.server = server
    }

    /// Returns the key to encrypt with now. Concurrent callers share one request for it.
    func current() async throws -> EncryptionKey {
        guard self.version.usesTemporaryKeys else { return EncryptionKey(id: nil, publicKey: self.signingKey) }
        if let key = self.cached { return key }
        return try await self.flight.run { try await self.fetch() }
    }

    private func fetch() async throws -> EncryptionKey {
        let path = "/pa/v3/keystore/create"
        let application = self.server.application
        let (activationID, transportKey) = self.scope.activation
        let request = TemporaryKeyRequest(
            applicationKey: application.applicationKey,
            activationID: activationID,
            challenge: self.server.randomness.bytes(TemporaryKeyRequest.challengeByteCount)
        )
        let jwt = request.jwt(applicationSecret: application.applicationSecret, transportKey: transportKey)
        // The response is signed and repeats our challenge, so its time of issue is the server's time as well.
        let response = try await self.server.time.measuring(\.issuedAt) {
            try await self.server.ask(path, for: activationID, Token(jwt: jwt), returning: Token.self) { token in
                let response = try MobileTokenError.mapErrors(ofResponse: path) {
                    try TemporaryKeyResponse(
                        jwt: token.jwt,
                        signedBy: self.signingKey,
                        answering: request,
                        // A clock that was never compared with the server's must not declare a fresh key expired.
                        now: self.server.time.isSynchronized ? self.server.time.milliseconds : .min
                    )
                }
                _ = try self.lifetime(of: response)  // an expired key is refused while the response is known
                return response
            }
        }
        let key = EncryptionKey(id: response.keyID, publicKey: response.publicKey)
        let lifetime = try self.lifetime(of: response)
        let usableUntil = self.server.clocks.monotonic + lifetime - Self.margin
        self.cache.withLock { $0 = (key, usableUntil) }
        return key
    }

    /// Returns how long the server will accept a key. Counted from its issue, so a clock that is wrong does not matter.
    private func lifetime(of response: TemporaryKeyResponse) throws(MobileTokenError) -> Duration {
        let (milliseconds, overflow) = response.expiresAt.subtractingReportingOverflow(response.issuedAt)
        guard !overflow, milliseconds > 0 else { throw .invalidResponse("The server's temporary key has expired") }
        return .milliseconds(min(milliseconds, 24 * 60 * 60 * 1000))
    }

    private struct Token: Codable { let jwt: String }

    /// Forgets a key that the server does not know any more, unless another took its place already.
    func drop(_ id: String) {
        self.cache.withLock { if $0?.key.id == id { $0 = nil } }
    }

    /// Returns the key, once the server's time is known as well: it goes into every encrypted request from version 3.2
    /// on.
    private func ready() async throws -> EncryptionKey {
        let key = try await self.current()  // first, for a key that has just been fetched tells the time too
        if self.version.usesTimestamps { try await self.server.synchronizeTime() }
        return key
    }

    /// Fetches what the next request needs, while that can still be canceled.
    func prepare() async throws {
        _ = try await self.ready()
    }

    private var cached: EncryptionKey? {
        let now = self.server.clocks.monotonic
        return self.cache.withLock { entry in
            guard let entry, now < entry.usableUntil else { return nil }
            return entry.key
        }
    }

    /// Encrypts one request in this scope.
    func encrypt(_ plaintext: [UInt8], for path: ECIESPurpose) async throws -> RequestBody {
        let key = try await self.ready()
        return try self.encrypt(plaintext, for: path, with: key)
    }

    /// Encrypts one request in this scope with a key that the caller has already.
    func encrypt(_ plaintext: [UInt8], for path: ECIESPurpose, with key: EncryptionKey) throws -> RequestBody {
        let parameters = ECIESParameters(
            version: self.version,
            applicationKey: self.server.application.applicationKey,
            applicationSecret: self.server.application.applicationSecret,
            scope: self.scope.ecies,
            purpose: path,
            temporaryKeyID: key.id
        )
        var encryptor = ECIESClientExchange(parameters: parameters, recipient: key.publicKey)
        let request = try MobileTokenError.mapCryptoErrors {
            try encryptor.encryptRequest(
                plaintext,
                ephemeralKey: try self.server.randomness.privateKey(),
                nonce: self.server.randomness.bytes(16),
                timestamp: self.server.time.milliseconds
            )
        }
        return RequestBody(
            bytes: try Wire.encode(request),
            temporaryKeyID: key.id,
            encryptionHeader: parameters.header.value
        ) { [encryptor] response in
            var decryptor = encryptor
            return try decryptor.decryptResponse(try JSONDecoder().decode(ECIESResponse.self, from: Data(response)))
        }
    }

    /// Sends an encrypted request that is not signed, and once more when the server does not know the temporary key.
    ///
    /// - Parameter encrypt: Makes the body anew for each attempt with the key it is given.
    func send(
        _ path: String,
        headers: HTTPHeaders = [:],
        _ encrypt: (EncryptionKey) throws -> RequestBody
    ) async throws -> ChannelResponse {
        let key = try await self.ready()
        do {
            return try await self.sendOnce(path, headers: headers, try encrypt(key))
        } catch let error as MobileTokenError where error.mayMeanUnknownTemporaryKey {
            guard let id = key.id else { throw error }
            self.drop(id)
            let renewed = try await self.current()
            self.server.observer?.requestRetried(
                RetryObservation(activationID: self.scope.activation.id, path: path, reason: .temporaryKeyRenewed)
            )
            return try await self.sendOnce(path, headers: headers, try encrypt(renewed))
        }
    }

    private func sendOnce(_ path: String, headers: HTTPHeaders, _ body: RequestBody) async throws -> ChannelResponse {
        var headers = headers
        headers[EncryptionHeader.name] = body.encryptionHeader
        let response = try await self.server.post(
            path,
            for: self.scope.activation.id,
            headers: headers,
            body: body.bytes
        )
        return try response.map { bytes in try MobileTokenError.mapErrors(ofResponse: path) { try body.open(bytes) } }
    }

    /// The key that signs temporary keys, and that takes their place before version 3.3.
    private var signingKey: P256PublicKey {
        switch self.scope {
        case .application: self.server.application.masterPublicKey
        case .activation(_, _, let serverPublicKey): serverPublicKey
        }
    }
}

extension EncryptionKeys.Scope {
    fileprivate var ecies: ECIESScope {
        switch self {
        case .application: .application
        case .activation(let id, let transportKey, _): .activation(id: id, transportKey: transportKey)
        }
    }

    fileprivate var activation: (id: String?, transportKey: SecretBytes?) {
        switch self {
        case .application: (nil, nil)
        case .activation(let id, let transportKey, _): (id, transportKey)
        }
    }
}

extension MobileTokenError {
    /// Whether the server may have forgotten the temporary key. Some servers say so; others, real ones among them, only
    /// say that they could not open the request.
    var mayMeanUnknownTemporaryKey: Bool {
        self.code == .temporaryKeyRefused || (self.code == .encryptionFailed && self.serverCode != nil)
    }
}
