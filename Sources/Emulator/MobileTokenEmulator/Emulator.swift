import Coordination
import EmulatorBackend
import EmulatorHTTP
package import ExactJSON
public import Foundation
import PowerAuthCrypto

/// A strict PowerAuth backend for development and tests, in this process.
///
/// It serves the standard `/pa/v3` and `/pa/v4` endpoints, the Mobile Token API and the cloud API on a real socket, and refuses
/// what the real servers refuse. It stops on ``stop()``, or when it is released.
///
/// ```swift
/// let emulator = try await Emulator.start()
/// print(emulator.baseURL, emulator.sdkConfiguration)
/// …
/// await emulator.stop()
/// ```
public final class Emulator: Sendable {
    let core: EmulatorCore
    private let address: ServerAddress
    private let place: Place

    private enum Place {
        case server(service: Task<Void, Never>, CertificateFile?, SpaceDirectory)
        case space(id: String, server: Emulator)
    }

    private init(core: EmulatorCore, server: HTTPServer, certificateFile: CertificateFile?) {
        var address = ServerAddress(server)
        if let url = core.configuration.publicURL {
            address.origin = url.utf8.last == UInt8(ascii: "/") ? String(url.dropLast()) : url
        }
        let spaces = SpaceDirectory(of: core)
        let door = ControlAPI(core: core, address: address, certificate: certificateFile?.certificate, spaces: spaces)
        self.core = core
        self.address = address
        let service = Task {
            await withDiscardingTaskGroup { group in
                group.addTask { await core.run() }
                group.addTask {
                    await server.run { request in
                        let start = ContinuousClock.now
                        let response = await door.respond(to: request)
                        let duration = ContinuousClock.now - start
                        core.configuration.requestLog?(LoggedRequest(request, response, duration: duration))
                        return response
                    }
                }
            }
            // Waiting callers are cut off, instead of being told that nothing came.
            core.events.finish()
            await spaces.close()
        }
        self.place = .server(service: service, certificateFile, spaces)
    }

    init(_ space: Space, of server: Emulator) {
        self.core = space.core
        self.address = server.address.below(SpacePath.prefix(of: space.summary.id))
        self.place = .space(id: space.summary.id, server: server)
    }

    deinit {
        if case .server(let service, _, _) = self.place { service.cancel() }
    }

    /// The space's identifier and directory; `nil` for a server.
    var spaceOfServer: (id: SpaceSummary.ID, spaces: SpaceDirectory)? {
        guard case .space(let id, let server) = self.place else { return nil }
        return server.spaceDirectory.map { (id, $0) }
    }

    /// The server's spaces; `nil` for a space.
    var spaceDirectory: SpaceDirectory? {
        if case .server(_, _, let spaces) = self.place { spaces } else { nil }
    }

    /// Starts a server; when this returns, it accepts connections.
    ///
    /// - Throws: ``EmulatorError`` if the port is taken, the configuration does not decode or has an impossible limit, or the
    ///   data file is unusable.
    public static func start(configuration: Configuration = Configuration()) async throws(EmulatorError) -> Emulator {
        var configuration = configuration
        try configuration.check()
        // A separate sequence from the backend's, which these draws must not advance. If others can reach the server, its
        // password and its TLS key must be unpredictable.
        let isLoopback = try Self.isLoopback(configuration)
        var randomness = SeededRandomness(seed: isLoopback ? configuration.seed.map { ~$0 } : nil)
        let password = randomness.identifier()
        configuration.cloudPassword = configuration.cloudPassword ?? password
        let certificate = try Self.certificate(for: configuration, &randomness)
        let core = try EmulatorCore(configuration: configuration)
        if let scenario = configuration.scenario, !core.isContinued {
            try await core.begin(with: Scenario.reading(scenario))
        }
        if await core.commit() != nil { throw EmulatorError(.storage, "The data file cannot be written") }
        let server = try Self.listen(configuration, certificate, core.clock)
        let file: CertificateFile?
        if let certificate { file = try CertificateFile(certificate) } else { file = nil }
        return Emulator(core: core, server: server, certificateFile: file)
    }

    private static func isLoopback(_ configuration: Configuration) throws(EmulatorError) -> Bool {
        do { return try SocketAddress(host: configuration.host, port: configuration.port).isLoopback } catch {
            throw EmulatorError(error)
        }
    }

    private static func listen(
        _ configuration: Configuration,
        _ certificate: SelfSignedCertificate?,
        _ clock: any Swift.Clock<Duration>
    ) throws(EmulatorError) -> HTTPServer {
        var limits = HTTPServer.Limits()
        limits.takesLargeBody = ControlAPI.mayHoldState
        do {
            return try HTTPServer(
                host: configuration.host,
                port: configuration.port,
                certificate: certificate,
                limits: limits,
                clock: clock
            )
        } catch {
            throw EmulatorError(error)
        }
    }

    private static func certificate(
        for configuration: Configuration,
        _ randomness: inout SeededRandomness
    ) throws(EmulatorError) -> SelfSignedCertificate? {
        guard configuration.tls == .selfSigned else { return nil }
        guard let key = try? randomness.privateKey() else {
            throw EmulatorError(.cannotListen, "A key for TLS cannot be made")
        }
        return try .server(boundTo: configuration.host, key: key)
    }

    /// Closes every connection and the socket, and waits for that. A data file stays, for another server.
    ///
    /// A space is removed from its server with all its content, unless its test has failed and the server keeps those.
    public func stop() async {
        switch self.place {
        case .server(let service, let certificateFile, _):
            service.cancel()
            await service.value
            await self.core.closeDataFile()
            certificateFile?.remove()
        case .space(let id, let server):
            // It may already be gone, like a server that is stopped twice.
            try? await server.spaceDirectory?.remove(id)
        }
    }

    // MARK: Client configuration

    /// The address for clients: `http://127.0.0.1:49152/enrollment-server`; with TLS, `https://…`.
    public var baseURL: String { self.address.origin + "/enrollment-server" }

    /// The address of the cloud API, and with `/console/` added, of the console: `http://127.0.0.1:49152`.
    public var cloudURL: String { self.address.origin }

    /// The certificate that clients must trust, if the server uses TLS.
    public var certificate: Certificate? {
        switch self.place {
        case .server(_, let certificateFile, _): certificateFile?.certificate
        case .space(_, let server): server.certificate
        }
    }

    /// The identifier of this space; `nil` for a server.
    public var spaceID: SpaceSummary.ID? {
        if case .space(let id, _) = self.place { id } else { nil }
    }

    /// The port of the server.
    public var port: UInt16 { self.address.port }

    /// The configuration string for a client.
    public var sdkConfiguration: String { self.core.application.sdkConfiguration }

    /// The application's identifier, `appId` in the cloud API.
    public var applicationID: String { self.core.application.id }

    /// The application's key, in Base64.
    public var applicationKey: String { self.core.application.key }

    /// The application's secret, in Base64.
    public var applicationSecret: String { self.core.application.secret }

    /// The public key that verifies activation codes, in Base64: the uncompressed point, 65 bytes.
    public var masterServerPublicKey: String { self.core.application.masterServerPublicKey }

    /// The user of the cloud API's Basic authentication.
    public var cloudUser: String { self.core.configuration.cloudUser }

    /// The password of the cloud API's Basic authentication.
    public var cloudPassword: String { self.core.configuration.cloudPassword ?? "" }

    // MARK: State

    /// Indicates whether the server continues with its data file's state instead of its configuration's.
    package var isContinued: Bool { self.core.isContinued }
    /// The objects made by the configuration's scenario, as in the cloud API.
    package var played: JSONValue? { get async { await self.core.played } }

    /// Restores the state at the start, or of the last import. The clock returns to the machine's, faults are removed, and the
    /// journal is emptied. The application's keys stay. A space, and a server with a scenario, return to their beginning,
    /// including its clock, faults and virtual devices.
    ///
    /// - Throws: ``EmulatorError`` if the data file cannot be written.
    public func reset() async throws(EmulatorError) { try await self.core.reset() }

    /// Returns the whole state as a JSON document, including the application's private keys.
    public func exported() async throws -> Data { Data(try await self.core.exported()) }

    /// Writes the whole state to a file that only its owner can read, because it holds the application's private keys.
    ///
    /// An existing file is replaced atomically.
    ///
    /// - Throws: ``EmulatorError`` of code `storage` if the file cannot be written, or is a symbolic link.
    public func export(toFile path: String) async throws {
        try ServerFile.write(try await self.core.exported(), to: path)
    }

    /// Replaces the state by an exported one, which the next reset restores too.
    ///
    /// - Throws: ``EmulatorError`` if it does not decode; the state is then unchanged.
    public func importState(_ document: Data) async throws(EmulatorError) {
        try await self.core.importState(Array(document))
    }

    /// All activations, newest first.
    public func activations() async -> [ActivationSummary] { await self.core.snapshot.backend.activations }

    /// All operations, newest first.
    public func operations() async -> [OperationSummary] {
        let (backend, now) = await self.core.snapshot
        return backend.operations(at: now)
    }

    /// The messages of all inboxes, newest first.
    public func messages() async -> [MessageSummary] { await self.core.snapshot.backend.messages }

    /// The operation templates, by name.
    public func templates() async -> [TemplateSummary] { await self.core.snapshot.backend.templates }

    // MARK: Versions of the protocol

    /// The accepted protocol versions, and the recipients of upgrade offers.
    public func protocolRules() async -> ProtocolRules { await self.core.protocolRules }

    /// Changes the accepted protocol versions until a reset or an import.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration` for impossible rules.
    public func setProtocolRules(_ rules: ProtocolRules) async throws(EmulatorError) {
        try await self.core.setProtocolRules(rules)
    }

    // MARK: Callbacks

    /// Returns the deliveries to the bank, newest first: waiting ones, those in progress, and the last 1000 completed ones.
    public func deliveries() -> [DeliverySummary] {
        self.core.callbackQueue.outbox.newestFirst.map(DeliverySummary.init)
    }

    /// Sends a completed delivery again, unchanged.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func replayDelivery(_ id: UInt64) async throws(EmulatorError) { try await self.core.replayDelivery(id) }

    /// The last 1000 push messages that a real server would have sent, newest first.
    public func pushes() async -> [PushSummary] { await Array(self.core.pushes.newestFirst) }

    // MARK: Observation

    /// The handled requests after the entry numbered `id`, oldest first.
    ///
    /// The last 10 000 are kept, or fewer if they are large.
    public func journal(since id: UInt64 = 0) async -> [JournalEntry] {
        await self.core.journal(since: id, limit: .max).entries
    }

    /// Returns all changes from now on, until the server stops.
    ///
    /// No event is omitted: the stream of a reader that falls thousands behind ends. Each stream has one reader.
    public func events() -> AsyncStream<Event> { self.core.events.subscribe().stream }
}
