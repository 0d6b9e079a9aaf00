import Foundation

/// The values of the state outside tables.
struct StateRoot: Sendable, Codable, Equatable {
    var defaultApplicationID: String
    var randomness: SeededRandomness
}

/// The key of an object in the data file.
package struct StateKey: Sendable, Hashable {
    /// The object's table. The raw values are stored: do not change them.
    package enum Kind: String, Sendable, CaseIterable {
        case root, application, activation, offer, token, temporaryKey, recoveryCode, operation, claim, message, device
        case replay, callback, oidcProvider, oidcGrant, cloudUser, virtualDevice, template
    }

    package let kind: Kind
    package let id: String

    package init(kind: Kind, id: String) {
        self.kind = kind
        self.id = id
    }

    static let root = Self(kind: .root, id: "")
}

/// An object of the state in the data file.
package struct StateRecord: Sendable, Equatable {
    package let key: StateKey
    /// The position among the objects of its kind.
    package let number: Int
    /// The object in JSON.
    package let document: [UInt8]

    package init(key: StateKey, number: Int, document: [UInt8]) {
        self.key = key
        self.number = number
        self.document = document
    }
}

// MARK: - Writing

extension BackendState {
    private var root: StateRoot {
        StateRoot(defaultApplicationID: self.defaultApplicationID, randomness: self.randomness)
    }

    /// Returns the keys of all objects changed since the last call.
    package mutating func takeChanges() -> [StateKey] {
        var changes: [StateKey] = []
        // This runs for each request; using `tables` would copy each of them.
        for kind in Self.kinds {
            func take<Value>(_ table: inout Table<Value>) {
                guard table.hasChanges else { return }
                changes += table.takeChanges().map { StateKey(kind: kind, id: $0) }
            }
            switch kind {
            case .root:
                guard self.writtenRoot != self.root else { continue }
                self.writtenRoot = self.root
                changes.append(.root)
            case .application: take(&self.applications)
            case .activation: take(&self.activations.table)
            case .offer: take(&self.offers)
            case .token: take(&self.tokens)
            case .temporaryKey: take(&self.temporaryKeys)
            case .recoveryCode: take(&self.recoveryCodes)
            case .operation: take(&self.operations.operations)
            case .claim: take(&self.operations.claims)
            case .message: take(&self.inbox.messages)
            case .callback: take(&self.callbacks)
            case .device: take(&self.devices)
            case .virtualDevice: take(&self.virtualDevices)
            case .oidcProvider: take(&self.oidcProviders)
            case .oidcGrant: take(&self.oidcGrants)
            case .cloudUser: take(&self.cloudUsers)
            case .template: take(&self.templates)
            case .replay: take(&self.replays.expirations)
            }
        }
        return changes
    }

    /// The keys of all objects.
    package var keys: [StateKey] {
        [.root] + Self.tables.flatMap { kind, table in table.keys(self).map { StateKey(kind: kind, id: $0) } }
    }

    /// Returns an object's current record, or `nil` if it no longer exists.
    package func record(_ key: StateKey) throws -> StateRecord? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let table = Self.tables[key.kind] else {
            return StateRecord(key: key, number: 0, document: Array(try encoder.encode(self.root)))
        }
        guard let (number, document) = try table.encoded(self, key.id, encoder) else { return nil }
        return StateRecord(key: key, number: number, document: document)
    }
}

// MARK: - Reading

extension BackendState {
    /// Assembles a state from its records.
    package init(records: [StateRecord]) throws {
        let decoder = JSONDecoder()
        guard let root = records.first(where: { $0.key == .root }) else {
            throw Refusal.invalidDocument("it has no beginning")
        }
        self.init(root: try decoder.decode(StateRoot.self, from: Data(root.document)))
        for record in records {
            try Self.tables[record.key.kind]?.restore(&self, record, decoder)
            self.storedBytes += record.document.count
        }
        self.activations.restoreOrder()
        self.operations.restoreOrder()
        self.inbox.restoreOrder()
        guard self.applications[self.defaultApplicationID] != nil else {
            throw Refusal.invalidDocument("its application is missing")
        }
    }

    private init(root: StateRoot) {
        self.defaultApplicationID = root.defaultApplicationID
        self.randomness = root.randomness
        self.writtenRoot = root
    }

    /// Type-erased access to a table.
    private struct TableAccess: Sendable {
        let keys: @Sendable (BackendState) -> [String]
        let encoded: @Sendable (BackendState, String, JSONEncoder) throws -> (number: Int, document: [UInt8])?
        let restore: @Sendable (inout BackendState, StateRecord, JSONDecoder) throws -> Void

        init<Value>(_ path: any WritableKeyPath<BackendState, Table<Value>> & Sendable) {
            self.keys = { Array($0[keyPath: path].keys) }
            self.encoded = { state, id, encoder in
                let table = state[keyPath: path]
                guard let value = table[id], let number = table.number(of: id) else { return nil }
                return (number, Array(try encoder.encode(value)))
            }
            self.restore = { state, record, decoder in
                let value = try decoder.decode(Value.self, from: Data(record.document))
                state[keyPath: path].restore(record.key.id, value, number: record.number)
            }
        }
    }

    private static let kinds = StateKey.Kind.allCases

    private static let tables: [StateKey.Kind: TableAccess] = [
        .application: TableAccess(\.applications),
        .activation: TableAccess(\.activations.table),
        .offer: TableAccess(\.offers),
        .token: TableAccess(\.tokens),
        .temporaryKey: TableAccess(\.temporaryKeys),
        .recoveryCode: TableAccess(\.recoveryCodes),
        .operation: TableAccess(\.operations.operations),
        .claim: TableAccess(\.operations.claims),
        .message: TableAccess(\.inbox.messages),
        .callback: TableAccess(\.callbacks),
        .device: TableAccess(\.devices),
        .virtualDevice: TableAccess(\.virtualDevices),
        .oidcProvider: TableAccess(\.oidcProviders),
        .oidcGrant: TableAccess(\.oidcGrants),
        .cloudUser: TableAccess(\.cloudUsers),
        .template: TableAccess(\.templates),
        .replay: TableAccess(\.replays.expirations),
    ]
}
