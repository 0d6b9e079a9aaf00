import Basics
import Coordination
public import Foundation
public import MobileTokenObserving
public import PowerAuthProtocol
import Synchronization

/// One activation: its state at the server, its factors and tokens, and its authenticated requests.
///
/// Signed requests run one at a time, in call order, also across processes that share a store. Other requests run concurrently. A
/// canceled call throws `CancellationError` at once; a signed request already sent is finished in the background, so that the
/// counter stays in step.
public actor Activation: Identifiable {
    /// The server's identifier of this activation.
    public nonisolated let activationID: String
    /// The same as ``activationID``.
    public nonisolated var id: String { self.activationID }
    /// The name given at creation.
    public nonisolated let name: String?

    nonisolated let server: ServerConnection
    nonisolated let applicationKeys: ApplicationEncryption
    private nonisolated let currentDialect: Mutex<any ActivationDialect>

    /// Indicates whether ``removeLocally()`` was called. Nonisolated, because the client reads it without waiting.
    private nonisolated let removed = Atomic(false)
    /// The number of counter moves last seen by this process. Nonisolated, because concurrent calls read it.
    nonisolated let seenMoves: Atomic<UInt64>
    /// This process's knowledge about the counter; the rest is in the store.
    var counterKnowledge = CounterKnowledge()
    var failedAttempts = FailedAttempts()
    var arrivals = ArrivingDecisions()
    /// Tokens as last read or created, so that polling does not read the store.
    var tokenCache: [ExactString: ActivationRecord.Token] = [:]
    /// When a new token was refused like its predecessor, by token name.
    var renewalsInVain: [ExactString: Duration] = [:]
    var tokenCreations: [ExactString: Coalescer<ActivationRecord.Token>] = [:]

    init(_ record: ActivationRecord, server: ServerConnection, applicationKeys: ApplicationEncryption) throws {
        guard record.applicationKey == server.application.applicationKey else {
            throw MobileTokenError(
                .invalidConfiguration,
                """
                sdkConfiguration: the activation \(record.activationID) in the store is of another application. Use that \
                application's configuration, or another store
                """
            )
        }
        self.activationID = record.activationID
        self.name = record.name
        self.server = server
        self.applicationKeys = applicationKeys
        self.seenMoves = Atomic(record.counterMoves)
        self.currentDialect = Mutex(try record.dialect(applicationKeys: applicationKeys))
    }

    /// The client's configuration. Services take their language and clock from it.
    package nonisolated var clientConfiguration: MobileTokenClient.Configuration { self.server.configuration }

    nonisolated var dialect: any ActivationDialect { self.currentDialect.withLock { $0 } }

    /// Adopts changes that other processes made in the store, such as a protocol upgrade.
    ///
    /// Calls to the server do this themselves. Local properties and checks, such as ``version``, ``fingerprint`` and
    /// `isSignedByServer(_:signature:key:format:)`, use the state last read.
    public func refresh() async throws {
        try self.checkNotRemoved()
        try self.adopt(try await self.storedRecord())
    }

    /// Adopts the record's keys after an upgrade, here or in another process.
    func adopt(_ record: ActivationRecord) throws {
        guard record.version != self.dialect.version || record.possessionKey != self.dialect.possessionKey else {
            return
        }
        let dialect = try record.dialect(applicationKeys: self.applicationKeys)
        self.currentDialect.withLock { $0 = dialect }
        self.forgetTokens()
    }

    func forgetTokens() { self.tokenCache = [:] }

    /// The estimated server time: the local clock, corrected by the server's responses. Without a response it is the local clock,
    /// and ``measuredServerDate`` is `nil`.
    public nonisolated var serverDate: Date { self.server.time.date }

    /// The server's time; `nil` before the first response and after the local clock was set.
    public nonisolated var measuredServerDate: Date? { self.server.time.measuredDate }

    /// Converts a local time to the server's time.
    public nonisolated func serverDate(ofLocalDate date: Date) -> Date { self.server.time.date(ofLocalDate: date) }

    /// Fetches the server's time, unless it is known or a recent attempt failed.
    ///
    /// - Throws: Only `CancellationError`.
    public nonisolated func synchronizeTime() async throws { try await self.server.tryToSynchronizeTime() }

    package nonisolated func makeServerTimeProbe() -> ServerTimeProbe? { self.server.time.makeProbe() }

    /// The client's observer, if any.
    public nonisolated var observer: (any MobileTokenObserver)? { self.server.observer }

    /// Eight digits for comparing by eye with the server's display.
    public nonisolated var fingerprint: String { self.dialect.fingerprint }

    /// The protocol version of the activation.
    public nonisolated var version: ProtocolVersion { self.dialect.version }

    /// The algorithms of a version 4 activation; `nil` in version 3.
    public nonisolated var suite: AlgorithmSuite? { self.dialect.suite }

    package nonisolated func storedRecord() async throws -> ActivationRecord {
        let record = try await MobileTokenError.mapStoreErrors {
            try await self.server.store.record(of: self.activationID)
        }
        guard let record else { throw MobileTokenError.unknownActivation }
        return record
    }

    /// Durably changes the activation in the store.
    @discardableResult
    nonisolated func updateRecord<Result: Sendable>(
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.update(self.activationID, change) }
    }

    /// Removes the activation at the server, then locally.
    ///
    /// - Parameter authentication: Two factors. A version 4 server may be configured to accept possession alone. If the server
    ///   refuses, `authenticationFailed` is thrown and nothing is removed.
    public func remove(authenticatedBy authentication: Authentication) async throws {
        try await self.send(with: authentication) { keys in
            try SignedRequest(EndpointRequest(.activationRemove, in: keys.dialect.version), keys: keys)
        } receive: { response, _ in
            let subject = Acknowledgement.Subject(member: "activationId", value: self.activationID)
            try Acknowledgement.check(response, of: "activation/remove", about: subject)
            try await self.removeLocally()
        }
    }

    /// Removes the activation locally, with its factors and tokens. The server keeps it.
    ///
    /// Requests already sent are unaffected; later calls throw ``MobileTokenError/Code/unknownActivation``.
    public func removeLocally() async throws {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.remove(self.activationID) }
        self.removed.store(true, ordering: .releasing)
        self.tokenCache = [:]
        self.counterKnowledge.forget()
    }

    /// Drops a temporary key that the server no longer knows, from every scope.
    nonisolated func forgetEncryptionKey(_ id: String) {
        self.dialect.encryption.drop(id)
        self.dialect.applicationEncryption.drop(id)
    }

    /// Indicates whether the activation is in the store, as far as this process knows.
    nonisolated var isPresent: Bool { !self.removed.load(ordering: .acquiring) }

    package nonisolated func checkNotRemoved() throws(MobileTokenError) {
        guard self.isPresent else { throw .unknownActivation }
    }
}

extension MobileTokenError {
    static var unknownActivation: Self { Self(.unknownActivation, "The store contains no such activation") }
}
