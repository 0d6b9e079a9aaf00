public import Foundation
import HTTPClientTransport
public import PowerAuthProtocol
import Synchronization

/// One application at one server: makes activations, finds those that are stored, and calls the server.
///
/// ```swift
/// let client = try MobileTokenClient(
///     baseURL: "https://powerauth.example.com/enrollment-server",
///     sdkConfiguration: "ARDDj6EB6…"
/// )
/// let activation = try await client.activate(code: "W65WE-3T7VI-7FBS2-A4OYA", name: "approval bot", password: "…")
/// let operations = client.operations(of: activation)
/// ```
///
/// One client serves a whole process. Nothing is opened or sent before a method needs it.
public final class MobileTokenClient: Sendable {
    /// The settings of the client, besides the server and the application.
    public let configuration: Configuration

    /// The version of this SDK, such as `1.0.0`.
    public static var sdkVersion: String { SDKVersion.text }

    let server: ServerConnection
    let encryptionKeys: ApplicationEncryption

    /// The transport that the client made for itself, and ends with itself.
    private let ownTransport: CurlTransport?
    private let ownStore: ActivationStore?

    /// One instance for each activation in use, because it remembers where the last signature left the counter.
    private let known = Mutex(KnownActivations())

    /// Creates a client from the configuration string that the server's administrator hands out.
    ///
    /// - Parameters:
    ///   - baseURL: The address below which `/api/…` is found: an absolute `https` URL without user, query or fragment, or
    ///     `http` to this machine.
    ///   - sdkConfiguration: The application's key and secret, and the server's master public key, as one string.
    ///   - configuration: Everything else.
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration``, whose message names what is wrong.
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

    /// Creates a client from a configuration that was parsed before, or put together from its keys.
    ///
    /// - Throws: ``MobileTokenError/Code/suiteUnavailable``, or ``MobileTokenError/Code/invalidConfiguration``, whose message names
    ///   what is wrong: also when the transport
    ///   has a pin, an authority or a client certificate, and the URL is `http`, where they mean nothing.
    public init(
        baseURL: String,
        sdkConfiguration: SDKConfiguration,
        configuration: Configuration = Configuration()
    ) throws(MobileTokenError) {
        let transport: any HTTPTransport
        (transport, self.ownTransport) = try Self.transport(configuration.transport)
        // A store that is given stays its owner's to close.
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

    /// Opens the store, waits until the calling task is canceled, and shuts the client down: the form that service runners
    /// ask for.
    ///
    /// Everything else works without it; then call ``shutdown()`` at the end.
    public func run() async throws {
        try await self.ownStore?.open()
        let (never, continuation) = AsyncStream.makeStream(of: Never.self)
        for await _ in never {}  // ends when the task is canceled
        continuation.finish()
        await self.shutdown()
    }

    /// Waits for activations and signed requests under way, ends every other request with an error, closes connections and the
    /// store. A transport or store from the configuration is left to its owner, who ends it afterwards.
    ///
    /// An activation that the server has made must get into the store, and what a signature decided into the receipts. So what is
    /// under way is waited for, even when the calling task is canceled: no longer than three requests may take. New ones are
    /// refused with ``MobileTokenError/Code/noConnection`` before they leave. What is still not over then is cut off, and ends with
    /// ``MobileTokenError/Code/connectionLost``: the receipt of a decision stays open.
    public func shutdown() async {
        await self.server.unfinished.close(within: self.server.timeout * 3, on: self.configuration.clock)
        await self.ownTransport?.shutdown()
        await self.ownStore?.close()
    }

    // MARK: Time

    /// The best idea of the server's date there is: the local clock, corrected by what the server's responses say. As long as
    /// the server has said nothing it is the local clock alone; ``measuredServerDate`` is `nil` then.
    public var serverDate: Date { self.server.time.date }

    /// The server's date, when the server has told it; `nil` as long as only the local clock is known, and again when that clock
    /// was set.
    public var measuredServerDate: Date? { self.server.time.measuredDate }

    /// Asks for the server's time, unless it is known already.
    public func synchronizeTime() async throws {
        try await self.server.synchronizeTime()
    }

    // MARK: Activations

    /// Returns the identifiers of all activations in the store, oldest first.
    public func activationIDs() async throws -> [String] {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.activationIDs() }
    }

    /// Returns all activations in the store, oldest first.
    ///
    /// - Throws: also when one of them is of another application.
    public func activations() async throws -> [Activation] {
        var activations: [Activation] = []
        for id in try await self.activationIDs() {
            // One that was removed since the identifiers were read is not an error.
            guard let record = try await self.record(of: id) else { continue }
            activations.append(try self.activation(record))
        }
        return activations
    }

    /// Returns an activation in the store.
    ///
    /// - Throws: ``MobileTokenError/Code/unknownActivation`` when the store holds no activation of this identifier.
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

/// The activations that are in use. The table does not keep them alive.
private struct KnownActivations {
    private struct Entry {
        weak var activation: Activation?
    }

    private var entries: [String: Entry] = [:]
    /// Entries of activations that are gone are swept when the table has grown to this size.
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
