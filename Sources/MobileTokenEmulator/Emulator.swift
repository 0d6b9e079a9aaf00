import Coordination
import EmulatorBackend
import EmulatorHTTP
public import Foundation
import PowerAuthCrypto
import Synchronization

/// A strict PowerAuth backend for development and tests, in this process.
///
/// It serves the standard `/pa/v3` and `/pa/v4` endpoints, the Mobile Token API and the cloud API on a real socket, and refuses what
/// the real servers refuse. It stops when ``stop()`` is called, or when it is no longer held.
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

    /// The context that this stands for.
    private enum Place {
        case server(service: Task<Void, Never>, CertificateFile?, SpaceDirectory)
        case space(id: String, server: Emulator)
    }

    private init(core: EmulatorCore, server: HTTPServer, certificateFile: CertificateFile?) {
        let address = ServerAddress(server)
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
            // Those who wait for something are cut off, and not told in time for another question that nothing came.
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

    /// `nil` for a server.
    var spaceOfServer: (id: SpaceSummary.ID, spaces: SpaceDirectory)? {
        guard case .space(let id, let server) = self.place else { return nil }
        return server.spaceDirectory.map { (id, $0) }
    }

    /// `nil` for a space.
    var spaceDirectory: SpaceDirectory? {
        if case .server(_, _, let spaces) = self.place { spaces } else { nil }
    }

    /// Starts a server; when this returns, it accepts connections.
    ///
    /// - Throws: ``EmulatorError`` when the port is taken, the configuration does not decode or holds a limit that cannot
    ///   work, or the data file cannot be used.
    public static func start(configuration: Configuration = Configuration()) async throws(EmulatorError) -> Emulator {
        var configuration = configuration
        try configuration.check()
        // Not the sequence that the backend uses, so that what is drawn here does not move it. Others who can reach the
        // server must not be able to compute its password and its key for TLS.
        let isLoopback = try Self.isLoopback(configuration)
        var randomness = Randomness(seed: isLoopback ? configuration.seed.map { ~$0 } : nil)
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
        _ randomness: inout Randomness
    ) throws(EmulatorError) -> SelfSignedCertificate? {
        guard configuration.tls == .selfSigned else { return nil }
        guard let key = try? randomness.privateKey() else {
            throw EmulatorError(.cannotListen, "A key for TLS cannot be made")
        }
        return try .server(boundTo: configuration.host, key: key)
    }

    /// Ends every connection and closes the socket; returns when that is done. A data file stays, for another server.
    ///
    /// A space is removed from its server, with all that is in it, unless its test has failed and the server keeps those.
    public func stop() async {
        switch self.place {
        case .server(let service, let certificateFile, _):
            service.cancel()
            await service.value
            await self.core.closeDataFile()
            certificateFile?.remove()
        case .space(let id, let server):
            // It may be gone already, like a server that is stopped twice.
            try? await server.spaceDirectory?.remove(id)
        }
    }

    // MARK: What clients need

    /// The address for clients: `http://127.0.0.1:49152/enrollment-server`; with TLS, `https://…`.
    public var baseURL: String { self.address.origin + "/enrollment-server" }

    /// The address of its cloud API, and with `/console/` added, of its page: `http://127.0.0.1:49152`.
    public var cloudURL: String { self.address.origin }

    /// The certificate that clients need to trust it, when it speaks TLS.
    public var certificate: Certificate? {
        switch self.place {
        case .server(_, let certificateFile, _): certificateFile?.certificate
        case .space(_, let server): server.certificate
        }
    }

    /// The identifier of the space that this is; `nil` for a server.
    public var spaceID: SpaceSummary.ID? {
        if case .space(let id, _) = self.place { id } else { nil }
    }

    /// The port it listens on.
    public var port: UInt16 { self.address.port }

    /// The string that configures a client.
    public var sdkConfiguration: String { self.core.application.sdkConfiguration }

    /// The application's identifier, `appId` in the cloud API.
    public var applicationID: String { self.core.application.id }

    /// Base64 of the application's key.
    public var applicationKey: String { self.core.application.key }

    /// Base64 of the application's secret.
    public var applicationSecret: String { self.core.application.secret }

    /// Base64 of the public key that signs activation codes: the uncompressed point, 65 bytes.
    public var masterServerPublicKey: String { self.core.application.masterServerPublicKey }

    /// The user of the cloud API's Basic authentication.
    public var cloudUser: String { self.core.configuration.cloudUser }

    /// The password of the cloud API's Basic authentication.
    public var cloudPassword: String { self.core.configuration.cloudPassword ?? "" }

    // MARK: State

    /// Indicates that the server goes on with what its data file held, and not with what its configuration begins with.
    package var isContinued: Bool { self.core.isContinued }
    /// The objects that the scenario of the configuration has made, as the cloud API shows them.
    package var played: JSONValue? { get async { await self.core.played } }

    /// Back to the state at the start, or that of the last import; the clock runs with the machine's, there are no
    /// faults, and the journal is empty. The application's keys stay. A space, and a server that began with a scenario, goes back
    /// to what it began with, the clock, faults and virtual devices of that included. Snapshots stay.
    ///
    /// - Throws: ``EmulatorError`` when the data file cannot be written.
    public func reset() async throws(EmulatorError) { try await self.core.reset() }

    /// Returns the whole state as one JSON document, the application's private keys included.
    public func exported() async throws -> Data { Data(try await self.core.exported()) }

    /// Writes the whole state to a file that only its owner can read, because it holds the application's private keys.
    ///
    /// A file that is there is replaced: under its name there is always the old document or the new one, whole.
    ///
    /// - Throws: ``EmulatorError`` of code `storage` when the file cannot be written, or is a symbolic link.
    public func export(toFile path: String) async throws {
        try PrivateFile.write(try await self.core.exported(), to: path)
    }

    /// Replaces the state by an exported one, also for the next reset.
    ///
    /// - Throws: ``EmulatorError`` when it does not decode; the state is then as it was.
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

    /// Returns the templates of operations, by name.
    public func templates() async -> [TemplateSummary] { await self.core.snapshot.backend.templates }

    // MARK: Versions of the protocol

    /// The versions of the protocol that are accepted, and to whom the newer one is offered.
    public func protocolRules() async -> ProtocolRules { await self.core.protocolRules }

    /// Changes which versions of the protocol are accepted, until a reset or an import.
    ///
    /// - Throws: ``EmulatorError`` of code `invalidConfiguration` for rules that no device could keep.
    public func setProtocolRules(_ rules: ProtocolRules) async throws(EmulatorError) {
        try await self.core.setProtocolRules(rules)
    }

    // MARK: Callbacks

    /// Returns the deliveries to the bank, newest first: the callbacks that wait, those under way, and the last 1000
    /// that ended.
    public func deliveries() -> [DeliverySummary] { self.core.mailroom.outbox.newestFirst.map(DeliverySummary.init) }

    /// Sends a delivery once more that has ended, as it was.
    ///
    /// - Throws: ``EmulatorError`` of code `notFound`.
    public func replayDelivery(_ id: UInt64) async throws(EmulatorError) { try await self.core.replayDelivery(id) }

    /// The push messages that a real server would have sent, newest first: the last 1000.
    public func pushes() async -> [PushSummary] { await Array(self.core.pushes.newestFirst) }

    // MARK: Watching

    /// The requests that were handled, oldest first: those after the entry numbered `id`, as far as they are kept.
    ///
    /// The last 10 000 are kept, or fewer when they are large.
    public func journal(since id: UInt64 = 0) async -> [JournalEntry] {
        await self.core.journal(since: id, limit: .max).entries
    }

    /// Returns everything that changes from now on, until the server stops.
    ///
    /// No event is left out: a reader that falls thousands behind has its stream ended. Each stream has one reader.
    public func events() -> AsyncStream<Event> { self.core.events.subscribe().stream }
}
