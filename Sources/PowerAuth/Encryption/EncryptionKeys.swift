import Coordination
import Foundation
import HTTPClientTransport
import PowerAuthProtocol
import Synchronization

/// A key that requests are encrypted with.
struct EncryptionKey<Material: Sendable>: Sendable {
    /// The identifier of a temporary key; `nil` where the server's own keys serve.
    let id: String?
    let material: Material
}

/// The encryption of requests in one version of the protocol and one scope, application or activation.
protocol EncryptionScheme: Sendable {
    associatedtype Material: Sendable
    /// The version's name of ``SharedInfo``.
    associatedtype Purpose: Sendable, RawRepresentable<String>

    /// The activation whose scope it is; `nil` for the application's.
    var activationID: String? { get }
    /// The key that serves without being fetched; `nil` where there are temporary keys.
    var permanentKey: EncryptionKey<Material>? { get }
    /// Indicates whether encrypted requests carry the server's time.
    var usesTimestamps: Bool { get }
    /// Fetches a temporary key.
    ///
    /// - Returns: The key, and how long the server will accept it. Counted from its issue, so a clock that is wrong does not
    ///   matter.
    func fetchKey(from server: ServerConnection) async throws -> (key: EncryptionKey<Material>, lifetime: Duration)
    /// Encrypts one request.
    func encrypt(
        _ plaintext: [UInt8],
        for purpose: Purpose,
        with key: EncryptionKey<Material>,
        server: ServerConnection
    ) throws -> RequestBody
}

extension EncryptionScheme {
    /// Returns the purpose that stands for `sharedInfo` in this version and scope.
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` when the version encrypts nothing for it.
    func purpose(of sharedInfo: SharedInfo) throws(MobileTokenError) -> Purpose {
        let name = sharedInfo.name(in: self.activationID == nil ? .application : .activation)
        guard let purpose = Purpose(rawValue: name) else {
            throw .unsupported("This version of the protocol encrypts nothing for \(name)")
        }
        return purpose
    }
}

/// The encryption keys of one scope: fetched when needed, kept until shortly before they expire.
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

    /// A key that was fetched, and until when it serves.
    private struct CachedKey {
        let key: Key
        let fetched: TimeSynchronization.Reading
        let lifetime: Duration

        func serves(at now: TimeSynchronization.Reading, margin: Duration) -> Bool {
            // A machine that stood still, or whose clock was set, does not know how old the key is.
            now.monotonic < self.fetched.monotonic + self.lifetime - margin && !self.fetched.isInterrupted(until: now)
        }
    }

    /// Returns the key to encrypt with now. Concurrent callers share one request for it.
    func current(margin: Duration = TemporaryKeyLifetime.margin) async throws -> Key {
        if let key = self.scheme.permanentKey ?? self.cached(margin) { return key }
        return try await self.fetching.run { try await self.fetch() }
    }

    private func fetch() async throws -> Key {
        let (key, lifetime) = try await self.fetchDoubtingTime()
        let fetched = self.server.clocks.reading
        self.cache.withLock { $0 = CachedKey(key: key, fetched: fetched, lifetime: lifetime) }
        return key
    }

    /// Fetches a key, and once more when it seems to have expired: then the time that was measured is wrong, for the key has
    /// just been signed.
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

    /// Returns the key, once the server's time is known as well, where it goes into every encrypted request.
    private func ready(margin: Duration = TemporaryKeyLifetime.margin) async throws -> Key {
        // First, for a key that has just been fetched tells the time too.
        let key = try await self.current(margin: margin)
        if self.scheme.usesTimestamps { try await self.server.synchronizeTime() }
        return key
    }

    func prepare() async throws {
        _ = try await self.ready()
    }

    // MARK: Encrypting

    func encrypt(_ plaintext: [UInt8], for sharedInfo: SharedInfo) async throws -> RequestBody {
        try await self.encrypt(plaintext, for: self.scheme.purpose(of: sharedInfo))
    }

    /// Encrypts one request in this scope, which may be signed.
    func encrypt(_ plaintext: [UInt8], for purpose: Scheme.Purpose) async throws -> RequestBody {
        let key = try await self.ready(margin: TemporaryKeyLifetime.marginBeforeSigning)
        return try self.encrypt(plaintext, for: purpose, with: key)
    }

    /// Encrypts one request in this scope with a key that the caller has already.
    func encrypt(_ plaintext: [UInt8], for purpose: Scheme.Purpose, with key: Key) throws -> RequestBody {
        try self.scheme.encrypt(plaintext, for: purpose, with: key, server: self.server)
    }

    // MARK: Sending

    func send(_ path: String, headers: HTTPHeaders, _ plaintext: [UInt8]) async throws -> ChannelResponse {
        let purpose = try self.scheme.purpose(of: .generic)
        return try await self.send(path, headers: headers) { key in
            try self.encrypt(plaintext, for: purpose, with: key)
        }
    }

    /// Sends an encrypted request that is not signed, and once more when the server does not know the temporary key.
    ///
    /// - Parameter encrypt: Makes the body anew for each attempt with the key it is given.
    func send(
        _ path: String,
        headers: HTTPHeaders = [:],
        _ encrypt: (Key) throws -> RequestBody
    ) async throws -> ChannelResponse {
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
                Observed.Retry(activationID: self.scheme.activationID, path: path, reason: .temporaryKeyRenewed)
            )
            return try await self.sendOnce(path, headers: headers, try encrypt(renewed))
        }
    }

    private func sendOnce(_ path: String, headers: HTTPHeaders, _ body: RequestBody) async throws -> ChannelResponse {
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
