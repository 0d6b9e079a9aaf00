internal import PowerAuthCrypto
internal import PowerAuthProtocol
internal import Synchronization

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

    /// The key to encrypt with now. Concurrent callers share one request for it.
    func current() async throws -> EncryptionKey {
        guard self.version.usesTemporaryKeys else { return EncryptionKey(id: nil, publicKey: self.signingKey) }
        if let key = self.cached { return key }
        return try await self.flight.run { try await self.fetch() }
    }

    /// Forgets a key that the server does not know any more, unless another took its place already.
    func drop(_ id: String) {
        self.cache.withLock { if $0?.key.id == id { $0 = nil } }
    }

    private var cached: EncryptionKey? {
        let now = self.server.clocks.monotonic
        return self.cache.withLock { entry in
            guard let entry, now < entry.usableUntil else { return nil }
            return entry.key
        }
    }

    /// The key that signs temporary keys, and that takes their place before version 3.3.
    private var signingKey: P256PublicKey {
        switch self.scope {
        case .application: self.server.application.masterPublicKey
        case .activation(_, _, let serverPublicKey): serverPublicKey
        }
    }
}
