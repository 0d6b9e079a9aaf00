public import Foundation
internal import HTTPClientTransport
internal import Synchronization

/// One application at one server: makes activations, and finds those that the store holds.
public final class PowerAuthClient: Sendable {
    /// What the client was built from.
    public let configuration: PowerAuthConfiguration

    let server: ServerConnection
    let encryptionKeys: EncryptionKeys
    let activationsUnderWay = ActivationsUnderWay()

    /// One instance for each activation in use, because it remembers where the last signature left the counter.
    private let known = Mutex(KnownActivations())

    /// Creates a client. Nothing is sent, and nothing is read from the store yet.
    public init(_ configuration: PowerAuthConfiguration) {
        self.configuration = configuration
        self.server = ServerConnection(configuration)
        self.encryptionKeys = EncryptionKeys(
            scope: .application,
            version: configuration.version,
            server: self.server
        )
    }

    /// The server's date: the local clock, corrected by what the server's answers say.
    public var serverDate: Date { self.server.time.date }

    /// Asks for the server's time, unless it is known already.
    public func synchronizeTime() async throws {
        try await self.server.synchronizeTime()
    }

    /// Refuses new activations, and returns when those under way are stored or have failed.
    ///
    /// Call it before the process ends and before the transport or the store is closed: the server uses up an activation code
    /// with the request, and an activation that is not stored then is lost. It waits even when the calling task is canceled,
    /// no longer than the transport lets a request take.
    public func shutdown() async {
        await self.activationsUnderWay.close()
    }

    /// The identifiers of all activations in the store, oldest first.
    public func activationIDs() async throws -> [String] {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.activationIDs() }
    }

    /// All activations in the store, oldest first.
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

    /// An activation in the store.
    ///
    /// - Throws: ``MobileTokenError/Code/unknownActivation`` when the store holds no activation of this identifier.
    public func activation(id: String) async throws -> Activation {
        guard let record = try await self.record(of: id) else { throw MobileTokenError.unknownActivation }
        return try self.activation(record)
    }

    private func record(of id: String) async throws -> ActivationRecord? {
        try await MobileTokenError.mapStoreErrors { try await self.server.store.record(of: id) }
    }

    /// The one instance for a record.
    func activation(_ record: ActivationRecord) throws -> Activation {
        try self.known.withLock { known in
            if let activation = known[record.activationID] { return activation }
            let activation = try Activation(record, server: self.server, applicationKeys: self.encryptionKeys)
            known.insert(activation)
            return activation
        }
    }
}

/// The activations that somebody still holds. The table does not keep them alive.
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
