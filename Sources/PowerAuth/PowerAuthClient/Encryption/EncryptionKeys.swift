import Coordination
import HTTPClientTransport
import MobileTokenObserving
import PowerAuthProtocol
import Synchronization

struct EncryptionKey<Material: Sendable>: Sendable {
    /// The identifier of a temporary key; `nil` for a permanent one.
    let id: String?
    let material: Material
}

/// The encryption of requests in one protocol version and one scope.
protocol EncryptionScheme: Sendable {
    associatedtype Material: Sendable
    /// The version's equivalent of ``SharedInfo``.
    associatedtype Purpose: Sendable, RawRepresentable<String>

    /// The activation of the scope; `nil` for the application scope.
    var activationID: String? { get }
    /// The permanent key; `nil` in versions with temporary keys.
    var permanentKey: EncryptionKey<Material>? { get throws }
    /// Indicates whether encrypted requests contain the server's time.
    var usesTimestamps: Bool { get }
    /// Fetches a temporary key. The lifetime counts from its issue, so a wrong clock does not matter.
    func fetchKey(from server: ServerConnection) async throws -> (key: EncryptionKey<Material>, lifetime: Duration)
    func encrypt(
        _ plaintext: [UInt8],
        for purpose: Purpose,
        with key: EncryptionKey<Material>,
        server: ServerConnection
    ) throws -> EncodedBody
}

extension EncryptionScheme {
    /// Returns the purpose for `sharedInfo` in this version and scope.
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` if the version has none.
    func purpose(of sharedInfo: SharedInfo) throws(MobileTokenError) -> Purpose {
        let name = sharedInfo.name(in: self.activationID == nil ? .application : .activation)
        guard let purpose = Purpose(rawValue: name) else {
            throw .unsupported("This version of the protocol encrypts nothing for \(name)")
        }
        return purpose
    }
}

/// The encryption keys of one scope, fetched on demand and kept until shortly before they expire.
final class EncryptionKeys<Scheme: EncryptionScheme>: RequestEncryption {
    typealias Key = EncryptionKey<Scheme.Material>

    let scheme: Scheme
    private let server: ServerConnection
    private let cache = Mutex<CachedKey?>(nil)
    private let fetching = Coalescer<Key>()

    init(_ scheme: Scheme, server: ServerConnection) {
        self.scheme = scheme
        self.server = server
    }

    private struct CachedKey {
        let key: Key
        let fetched: TimeSynchronization.Reading
        let lifetime: Duration

        func serves(at now: TimeSynchronization.Reading, margin: Duration) -> Bool {
            // After a suspension or a clock change, the key's age is unknown.
            now.monotonic < self.fetched.monotonic + self.lifetime - margin && !self.fetched.isInterrupted(until: now)
        }
    }

    /// Returns the current key. Concurrent callers share one fetch.
    func current(margin: Duration = TemporaryKeyLifetime.margin) async throws -> Key {
        if let key = try self.scheme.permanentKey ?? self.cached(margin) { return key }
        return try await self.fetching.run { try await self.fetch() }
    }

    private func fetch() async throws -> Key {
        let (key, lifetime) = try await self.fetchDoubtingTime()
        let fetched = self.server.clocks.reading
        self.cache.withLock { $0 = CachedKey(key: key, fetched: fetched, lifetime: lifetime) }
        return key
    }

    /// Fetches a key, and retries once if it seems expired: the key is fresh, so the measured time is wrong.
    private func fetchDoubtingTime() async throws -> (key: Key, lifetime: Duration) {
        do {
            return try await self.scheme.fetchKey(from: self.server)
        } catch let error as MobileTokenError where error.underlying as? TemporaryKeyError == .expired {
            self.server.time.distrust()
            return try await self.scheme.fetchKey(from: self.server)
        }
    }

    private func cached(_ margin: Duration) -> Key? {
        let now = self.server.clocks.reading
        return self.cache.withLock { entry in
            guard let entry, entry.serves(at: now, margin: margin) else { return nil }
            return entry.key
        }
    }

    func drop(_ id: String) {
        self.cache.withLock { if $0?.key.id == id { $0 = nil } }
    }

    /// Returns the key after synchronizing the time, if encrypted requests contain it.
    private func ready(margin: Duration = TemporaryKeyLifetime.margin) async throws -> Key {
        // The key goes first, because fetching it also reveals the time.
        let key = try await self.current(margin: margin)
        if self.scheme.usesTimestamps { try await self.server.synchronizeTime() }
        return key
    }

    func prepare() async throws {
        _ = try await self.ready()
    }

    // MARK: Encrypting

    func encrypt(_ plaintext: [UInt8], for sharedInfo: SharedInfo) async throws -> EncodedBody {
        try await self.encrypt(plaintext, for: self.scheme.purpose(of: sharedInfo))
    }

    /// Encrypts a request that may be signed.
    func encrypt(_ plaintext: [UInt8], for purpose: Scheme.Purpose) async throws -> EncodedBody {
        let key = try await self.ready(margin: TemporaryKeyLifetime.marginBeforeSigning)
        return try self.encrypt(plaintext, for: purpose, with: key)
    }

    func encrypt(_ plaintext: [UInt8], for purpose: Scheme.Purpose, with key: Key) throws -> EncodedBody {
        try self.scheme.encrypt(plaintext, for: purpose, with: key, server: self.server)
    }

    // MARK: Sending

    func send(_ path: String, headers: HTTPHeaders, _ plaintext: [UInt8]) async throws -> ServerResponse {
        let purpose = try self.scheme.purpose(of: .generic)
        return try await self.send(path, headers: headers) { key in
            try self.encrypt(plaintext, for: purpose, with: key)
        }
    }

    /// Sends an encrypted, unsigned request, and repeats it if the server does not know the temporary key.
    ///
    /// - Parameter encrypt: Makes the body for each attempt with the given key.
    func send(
        _ path: String,
        headers: HTTPHeaders = [:],
        _ encrypt: (Key) throws -> EncodedBody
    ) async throws -> ServerResponse {
        let key = try await self.ready()
        do {
            return try await self.sendOnce(path, headers: headers, try encrypt(key))
        } catch let error as MobileTokenError {
            guard let id = key.id else { throw error }
            let verdict = TemporaryKeyVerdict(EncryptedCall(unauthenticated: path), error)
            if verdict != .keep { self.drop(id) }
            guard verdict == .renew else { throw error }
            let renewed = try await self.current()
            self.server.observer?.requestRetried(
                MobileTokenObservation.Retry(
                    activationID: self.scheme.activationID,
                    path: path,
                    reason: .temporaryKeyRenewed
                )
            )
            return try await self.sendOnce(path, headers: headers, try encrypt(renewed))
        }
    }

    private func sendOnce(_ path: String, headers: HTTPHeaders, _ body: EncodedBody) async throws -> ServerResponse {
        var headers = headers
        headers.setEncryption(of: body)
        let response = try await self.server.post(
            path,
            for: self.scheme.activationID,
            headers: headers,
            body: body.bytes
        )
        return try response.opened(by: body, of: path)
    }
}
