import Coordination
public import Foundation
import HTTPClientTransport
public import PowerAuthProtocol
import Synchronization

/// One application at one server: creates activations, loads stored ones, and calls the server.
///
/// ```swift
/// let client = try MobileTokenClient(
///     baseURL: "https://powerauth.example.com/enrollment-server",
///     sdkConfiguration: "ARDDj6EB6…"
/// )
/// let activation = try await client.activate(code: "W65WE-3T7VI-7FBS2-A4OYA", name: "approval bot", password: "…")
/// let operations = client.makeOperationsService(for: activation)
/// ```
///
/// One client serves a whole process. It opens and sends nothing until a method needs it.
public final class MobileTokenClient: Sendable {
    /// The settings of the client, besides the server and the application.
    public let configuration: Configuration

    /// The version of this SDK, such as `1.0.0`.
    public static var sdkVersion: String { SDKVersion.text }

    let server: ServerConnection
    package var randomness: Randomness { self.server.randomness }
    let encryptionKeys: ApplicationEncryption

    /// The transport that the client created and shuts down.
    private let ownTransport: CurlTransport?
    private let ownStore: ActivationStore?

    /// The instances in use, one per activation, because each remembers the counter after its last signature.
    private let known = Mutex(KnownActivations())

    /// Creates a client from the configuration string that the server's administrator hands out.
    ///
    /// - Parameters:
    ///   - baseURL: The address above `/api/…`: an absolute `https` URL without user, query or fragment, or `http` to this
    ///     machine.
    ///   - sdkConfiguration: The application's key and secret and the server's master public key, as one string.
    ///   - configuration: All other settings.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``, with a message that names the problem.
    public convenience init(
        baseURL: String,
        sdkConfiguration: String,
        configuration: Configuration = Configuration()
    ) throws(MobileTokenError) {
        let parsed: SDKConfiguration
        do {
            parsed = try SDKConfiguration(parsing: sdkConfiguration)
        } catch {
            throw MobileTokenError(.invalidConfiguration, "sdkConfiguration: \(error)", underlying: error)
        }
        try self.init(baseURL: baseURL, sdkConfiguration: parsed, configuration: configuration)
    }

    /// Creates a client from a parsed or assembled configuration.
    ///
    /// - Throws: ``MobileTokenError/Code/suiteUnavailable``, or ``MobileTokenError/Code/invalidConfiguration`` with a message
    ///   that names the problem. Pins, authorities and client certificates are invalid with an `http` URL.
    public init(
        baseURL: String,
        sdkConfiguration: SDKConfiguration,
        configuration: Configuration = Configuration()
    ) throws(MobileTokenError) {
        let transport: any HTTPTransport
        (transport, self.ownTransport) = try Self.transport(configuration.transport)
        // The caller closes a store of its own.
        let store = configuration.store ?? .sqlite()
        self.ownStore = configuration.store == nil ? store : nil
        self.configuration = configuration
        self.server = try ServerConnection(
            baseURL: baseURL,
            application: sdkConfiguration,
            transport: transport,
            store: store,
            configuration: configuration
        )
        self.encryptionKeys = try ApplicationEncryption(server: self.server)
    }

    private static func transport(
        _ given: (any HTTPTransport)?
    ) throws(MobileTokenError) -> (any HTTPTransport, own: CurlTransport?) {
        if let given { return (given, nil) }
        do {
            let own = try CurlTransport()
            return (own, own)
        } catch {
            throw MobileTokenError(.invalidConfiguration, "transport: \(error)", underlying: error)
        }
    }

    // MARK: Life

    /// Opens the store, waits until the task is canceled, and shuts down: the form that service runners expect.
    ///
    /// Optional. Without it, call ``shutdown()`` at the end.
    public func run() async throws {
        try await self.ownStore?.open()
        try await cancelingAtShutdown {
            let (never, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in never {}  // ends when the task is canceled
            continuation.finish()
        }
        await self.shutdown()
    }

    /// Waits for activations and signed requests in flight, fails all other requests, and closes connections and the store. A
    /// transport or store from the configuration stays open; shut it down afterwards.
    ///
    /// New activations must reach the store, and decisions their receipts. So the call waits even in a canceled task, for at most
    /// three request timeouts. New requests are refused with ``MobileTokenError/Code/noConnection``. Requests still in flight at
    /// the limit fail with ``MobileTokenError/Code/connectionLost``, and their receipts stay open.
    public func shutdown() async {
        await self.server.unfinished.close(within: self.server.timeout * 3, on: self.configuration.clock)
        await self.ownTransport?.shutdown()
        await self.ownStore?.close()
    }

    // MARK: Time

    /// The estimated server time: the local clock, corrected by the server's responses. Without a response it is the local clock,
    /// and `Activation.measuredServerDate` is `nil`.
    public var serverDate: Date { self.server.time.date }

    /// Fetches the server's time, unless it is known.
    public func synchronizeTime() async throws {
        try await self.server.synchronizeTime()
    }

    // MARK: Activations

    /// Returns the identifiers of all stored activations, oldest first.
    public func activationIDs() async throws -> [String] {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.activationIDs() }
    }

    /// Returns all stored activations, oldest first.
    ///
    /// - Throws: An error also if one of them belongs to another application.
    public func activations() async throws -> [Activation] {
        var activations: [Activation] = []
        for id in try await self.activationIDs() {
            // Skip activations removed since the identifiers were read.
            guard let record = try await self.record(of: id) else { continue }
            activations.append(try self.activation(record))
        }
        return activations
    }

    /// Returns a stored activation.
    ///
    /// - Throws: ``MobileTokenError/Code/unknownActivation`` if the store has none with this identifier.
    public func activation(id: String) async throws -> Activation {
        guard let record = try await self.record(of: id) else { throw MobileTokenError.unknownActivation }
        return try self.activation(record)
    }

    private func record(of id: String) async throws -> ActivationRecord? {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.record(of: id) }
    }

    /// Returns the one instance for a record.
    func activation(_ record: ActivationRecord) throws -> Activation {
        try self.known.withLock { known in
            if let activation = known[record.activationID] { return activation }
            let activation = try Activation(record, server: self.server, applicationKeys: self.encryptionKeys)
            known.insert(activation)
            return activation
        }
    }
}

/// The activations in use, held weakly.
private struct KnownActivations {
    private struct Entry {
        weak var activation: Activation?
    }

    private var entries: [String: Entry] = [:]
    /// Dead entries are removed when the table reaches this size.
    private var sweepCount = 64

    subscript(_ id: String) -> Activation? {
        guard let activation = self.entries[id]?.activation, activation.isPresent else { return nil }
        return activation
    }

    mutating func insert(_ activation: Activation) {
        if self.entries.count >= self.sweepCount {
            self.entries = self.entries.filter { $0.value.activation != nil }
            self.sweepCount = max(64, self.entries.count * 2)
        }
        self.entries[activation.activationID] = Entry(activation: activation)
    }
}
