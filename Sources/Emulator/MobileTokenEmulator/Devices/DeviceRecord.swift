import DecisionReceipts
import EmulatorBackend
import ExactJSON
import Foundation
import PowerAuthClient
import PowerAuthProtocol

/// A virtual device as stored in the data file and in exported states.
struct DeviceRecord: Codable {
    /// The device with its tasks, open and done.
    let device: DeviceRoster.Device
    let keys: DeviceKeys
}

extension DeviceRecord {
    /// Creates the record of a new device.
    init(_ request: Emulator.NewDevice, _ keys: DeviceKeys, at now: Milliseconds) {
        let (name, version) = (request.displayName, keys.model.version.rawValue)
        self.init(
            device: .init(keys.activationID, name: name, version: version, request.rule, at: now),
            keys: keys
        )
    }

    init(_ document: ExportableJSON) throws(EmulatorError) {
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(document.value.serialized()))
        } catch {
            throw EmulatorError(.invalidDocument, "A virtual device is not one of this server")
        }
        guard self.device.id == self.keys.activationID else {
            throw EmulatorError(.invalidDocument, "A virtual device is that of another activation")
        }
    }

    /// `nil` for a device that has lost its activation, and no longer acts.
    var document: ExportableJSON? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys  // two exports of one state are equal
        guard let json = try? JSONValue(parsing: Array(encoder.encode(self))) else { return nil }
        return ExportableJSON(json)
    }
}

// MARK: - Keys

extension DeviceKeys: Codable {
    private enum CodingKeys: String, CodingKey {
        case activationID, version, suite, application, push, isRegistered, sealingKey, sealingKeys, slot, tag, key
        case format, fields
    }

    private struct Key: Codable {
        let number: Int64
        let check: Data
    }

    private struct Field: Codable {
        let name: String
        let isSealed: Bool
        let bytes: Data
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        self.activationID = try container.decode(String.self, forKey: .activationID)
        self.model = Model(
            version: try container.decodeCase(forKey: .version),
            suite: try container.decode(AlgorithmSuite.self, forKey: .suite),
            application: try container.decode(String.self, forKey: .application),
            sealingKey: try container.decode(ExportableSecret.self, forKey: .sealingKey).secret,
            push: try container.contains(.push) ? container.decodeCase(forKey: .push) : nil
        )
        self.isRegistered = try container.decode(Bool.self, forKey: .isRegistered)
        self.unlocked = nil
        let fields = try container.decode([Field].self, forKey: .fields).map { field in
            SealedActivation.Field(name: field.name, isSealed: field.isSealed, bytes: Array(field.bytes))
        }
        let row = LoadedRow(
            slot: try container.decode(Int64.self, forKey: .slot),
            tag: WriteTag(rawValue: try container.decode(Int64.self, forKey: .tag)),
            key: try container.decode(Int64.self, forKey: .key),
            sealed: SealedActivation(activationID: self.activationID, fields: fields),
            format: RecordFormat(rawValue: try container.decode(Int64.self, forKey: .format))
        )
        let keys = try container.decode([Key].self, forKey: .sealingKeys).map { key in
            StoreFacts.Key(number: key.number, check: Array(key.check))
        }
        self.rows = MemoryDriver.Contents(entryLimit: DeviceSession.receiptEntries, keys: keys, row: row)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.activationID, forKey: .activationID)
        try container.encode(self.model.version.rawValue, forKey: .version)
        try container.encode(self.model.suite, forKey: .suite)
        try container.encode(self.model.application, forKey: .application)
        try container.encode(ExportableSecret(self.model.sealingKey), forKey: .sealingKey)
        try container.encodeIfPresent(self.model.push?.rawValue, forKey: .push)
        try container.encode(self.isRegistered, forKey: .isRegistered)
        let keys = self.rows.sealingKeys.map { Key(number: $0.number, check: Data($0.check)) }
        try container.encode(keys, forKey: .sealingKeys)
        guard let row = self.rows.row(of: self.activationID) else {
            let context = EncodingError.Context(codingPath: [], debugDescription: "no activation")
            throw EncodingError.invalidValue(self.activationID, context)
        }
        try container.encode(row.slot, forKey: .slot)
        try container.encode(row.tag.rawValue, forKey: .tag)
        try container.encode(row.key, forKey: .key)
        try container.encode(row.format.rawValue, forKey: .format)
        let fields = row.sealed.fields.map { Field(name: $0.name, isSealed: $0.isSealed, bytes: Data($0.bytes)) }
        try container.encode(fields, forKey: .fields)
    }
}

extension KeyedDecodingContainer {
    fileprivate func decodeCase<Value: RawRepresentable<String>>(forKey key: Key) throws -> Value {
        guard let value = Value(rawValue: try self.decode(String.self, forKey: key)) else {
            throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "unknown")
        }
        return value
    }
}
