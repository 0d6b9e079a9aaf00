import Basics
import Coordination
public import Foundation
import HTTPClientTransport
public import PowerAuthProtocol
import Synchronization

/// One activation: its state at the server, its factors and tokens, and every request it authenticates.
///
/// Signed requests go one after the other, in the order they were asked for, also when several processes share a store.
/// Everything else passes beside them. A call whose task is canceled ends with `CancellationError` at once; a signed
/// request that is on the wire by then is still finished in the background, so that the counter stays in step.
public actor Activation: AuthenticatedChannel {
    /// The server's identifier of this activation.
    public nonisolated let activationID: String
    /// The name it was created with.
    public nonisolated let name: String?

    nonisolated let server: ServerConnection
    /// Of the application's scope.
    nonisolated let applicationKeys: ApplicationEncryption
    private nonisolated let currentDialect: Mutex<any ActivationDialect>

    /// Indicates whether ``removeLocally()`` was called. Outside the actor, for the client looks for instances that still serve.
    private nonisolated let removed = Atomic(false)
    /// The moves of the counter as this process saw them last. Outside the actor, for whoever signs or asks passes beside it.
    nonisolated let seenMoves: Atomic<UInt64>
    /// The knowledge of this process about the counter; the rest is in the store.
    var counterKnowledge = CounterKnowledge()
    var failedAttempts = FailedAttempts()
    /// Tokens as last read or created, so that polling does not read the store.
    var tokenCache: [ExactString: ActivationRecord.Token] = [:]
    var tokenCreations: [ExactString: Coalescer<ActivationRecord.Token>] = [:]

    init(_ record: ActivationRecord, server: ServerConnection, applicationKeys: ApplicationEncryption) throws {
        guard record.applicationKey == server.application.applicationKey else {
            throw MobileTokenError(.invalidConfiguration, "sdkConfiguration: the activation is of another application")
        }
        self.activationID = record.activationID
        self.name = record.name
        self.server = server
        self.applicationKeys = applicationKeys
        self.seenMoves = Atomic(record.counterMoves)
        self.currentDialect = Mutex(try record.dialect(applicationKeys: applicationKeys))
    }

    /// The codec of its version of the protocol, until it is upgraded.
    nonisolated var dialect: any ActivationDialect { self.currentDialect.withLock { $0 } }

    /// Takes in what another process may have done to the activation in the store: an upgrade to another version of the protocol.
    ///
    /// Calls that ask the server do so by themselves. ``version``, ``fingerprint`` and what is judged without the server, such as
    /// ``isSignedByServer(_:signature:key:format:)``, know what was last read.
    public func refresh() async throws {
        try self.checkNotRemoved()
        try self.adopt(try await self.storedRecord())
    }

    /// Goes on with the keys of the record, which an upgrade has changed, here or in another process.
    func adopt(_ record: ActivationRecord) throws {
        guard record.version != self.dialect.version || record.possessionKey != self.dialect.possessionKey else {
            return
        }
        let dialect = try record.dialect(applicationKeys: self.applicationKeys)
        self.currentDialect.withLock { $0 = dialect }
        self.forgetTokens()
    }

    /// Forgets what was read of tokens.
    func forgetTokens() { self.tokenCache = [:] }

    /// The best idea of the server's date there is: the local clock, corrected by what the server's responses say. As long as
    /// the server has said nothing it is the local clock alone; ``measuredServerDate`` is `nil` then.
    public nonisolated var serverDate: Date { self.server.time.date }

    /// The server's date, when the server has told it; `nil` as long as only the local clock is known, and again when that clock
    /// was set.
    public nonisolated var measuredServerDate: Date? { self.server.time.measuredDate }

    /// Returns the server's date at a moment that was read from the local clock.
    public nonisolated func serverDate(ofLocalDate date: Date) -> Date { self.server.time.date(ofLocalDate: date) }

    /// Asks for the server's time, unless it is known or could not be had a moment ago.
    ///
    /// - Throws: `CancellationError` alone.
    public nonisolated func synchronizeTime() async throws { try await self.server.tryToSynchronizeTime() }

    package nonisolated func makeServerTimeProbe() -> ServerTimeProbe? { self.server.time.makeProbe() }

    /// The observer of the client, if it has one.
    public nonisolated var observer: (any MobileTokenObserver)? { self.server.configuration.observer }

    /// The number to compare by eye with what the server shows for this activation: eight digits.
    public nonisolated var fingerprint: String { self.dialect.fingerprint }

    /// The version of the protocol that the activation speaks.
    public nonisolated var version: ProtocolVersion { self.dialect.version }

    /// The algorithms of an activation of version 4; `nil` before.
    public nonisolated var suite: AlgorithmSuite? { self.dialect.suite }

    /// Returns the activation as the store has it now.
    nonisolated func storedRecord() async throws -> ActivationRecord {
        let record = try await MobileTokenError.mapStoreErrors {
            try await self.server.store.record(of: self.activationID)
        }
        guard let record else { throw MobileTokenError.unknownActivation }
        return record
    }

    /// Changes the activation in the store, durably.
    @discardableResult
    nonisolated func updateRecord<Result: Sendable>(
        _ change: @Sendable (inout ActivationRecord) throws -> Result
    ) async throws -> Result {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.update(self.activationID, change) }
    }

    /// Removes the activation at the server, and then here.
    ///
    /// - Parameter authentication: Two factors; the server refuses possession alone, unless it is configured otherwise (in version
    ///   4). A refusal is `authenticationFailed`, and nothing is forgotten.
    public func remove(with authentication: Authentication) async throws {
        try await self.send(with: authentication) { keys in
            try SignedRequest(EndpointRequest(.activationRemove, in: keys.dialect.version), keys: keys)
        } receive: { response, _ in
            let subject = Acknowledgement.Subject(member: "activationId", value: self.activationID)
            try Acknowledgement.check(response, of: "activation/remove", about: subject)
            try await self.removeLocally()
        }
    }

    /// Forgets the activation here, with its factors and tokens. The server keeps it.
    ///
    /// Requests that are on the wire end as they would have; later ones throw
    /// ``MobileTokenError/Code/unknownActivation``.
    public func removeLocally() async throws {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.remove(self.activationID) }
        self.removed.store(true, ordering: .releasing)
        self.tokenCache = [:]
        self.counterKnowledge.forget()
    }

    /// Forgets a temporary key that the server does not know any more, in whichever scope it is.
    nonisolated func forgetEncryptionKey(_ id: String) {
        self.dialect.encryption.drop(id)
        self.dialect.applicationEncryption.drop(id)
    }

    /// Indicates whether the activation is still in the store, as far as this process knows.
    nonisolated var isPresent: Bool { !self.removed.load(ordering: .acquiring) }

    nonisolated func checkNotRemoved() throws(MobileTokenError) {
        guard self.isPresent else { throw .unknownActivation }
    }
}

extension MobileTokenError {
    static var unknownActivation: Self { Self(.unknownActivation, "The store contains no such activation") }
}
