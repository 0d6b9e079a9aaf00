import ExactJSON
import Foundation
import MobileToken

/// The refusal of a configuration: the setting, and its fault.
public struct ConfigurationError: Error, CustomStringConvertible {
    /// The path of the setting, such as `policy.rules[0].limit`, or the name of an environment variable.
    public let setting: String
    /// The fault of the setting. Never holds the value.
    public let problem: String

    init(_ setting: String, _ problem: String) {
        self.setting = setting
        self.problem = problem
    }

    /// The setting and the problem, on one line.
    public var description: String { "\(self.setting): \(self.problem)" }
}

/// Reads the members of one JSON object exactly: what is of another type, given twice or not known is refused by its name.
struct SettingsReader {
    private let path: String
    private let object: JSONObject

    /// Reads an object with `body`. What it has beside these members is refused first: a misspelt member is a missing one as well.
    static func read<Value>(
        _ value: JSONValue?,
        at path: String = "",
        _ members: [String],
        _ body: (SettingsReader) throws -> Value
    ) throws -> Value {
        let object = try value.map { try Self.object($0, path) } ?? JSONObject()
        let reader = SettingsReader(path: path, object: object)
        for name in object.duplicateKeys { throw reader.error(name, "is given more than once") }
        for name in object.keys where !members.contains(where: { $0.utf8.elementsEqual(name.utf8) }) {
            throw reader.error(name, "is no setting; " + Suggestion.text(for: name, among: members))
        }
        return try body(reader)
    }

    private init(path: String, object: JSONObject) {
        self.path = path
        self.object = object
    }

    private static func object(_ value: JSONValue, _ path: String) throws -> JSONObject {
        guard let object = value.object else {
            throw ConfigurationError(path.isEmpty ? "(file)" : path, "is not an object")
        }
        return object
    }

    private func name(_ member: String) -> String { self.path.isEmpty ? member : "\(self.path).\(member)" }

    /// Returns an error about a member.
    func error(_ member: String, _ problem: String) -> ConfigurationError {
        ConfigurationError(self.name(member), problem)
    }

    private func value(_ member: String) -> JSONValue? { self.object[member] }

    // MARK: Values

    func string(_ member: String) throws -> String? {
        guard let value = self.value(member) else { return nil }
        guard let string = value.string else { throw self.error(member, "is not a string") }
        guard !string.isEmpty else { throw self.error(member, "is empty") }
        guard !string.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw self.error(member, "has a control character")
        }
        return string
    }

    func requiredString(_ member: String) throws -> String {
        guard let string = try self.string(member) else { throw self.error(member, "is missing") }
        return string
    }

    func strings(_ member: String) throws -> [String]? {
        guard let value = self.value(member) else { return nil }
        guard let elements = value.array else { throw self.error(member, "is not a list") }
        return try elements.map { element in
            guard let string = element.string, !string.isEmpty else {
                throw self.error(member, "is not a list of strings")
            }
            return string
        }
    }

    func boolean(_ member: String) throws -> Bool? {
        guard let value = self.value(member) else { return nil }
        guard let boolean = value.bool else { throw self.error(member, "is neither true nor false") }
        return boolean
    }

    func integer(_ member: String, in range: ClosedRange<Int64>) throws -> Int64? {
        guard let value = self.value(member) else { return nil }
        guard let integer = value.int64, range.contains(integer) else {
            throw self.error(member, "is not a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }

    /// A number of seconds.
    func seconds(_ member: String, in range: ClosedRange<Int64>) throws -> Duration? {
        try self.integer(member, in: range).map { .seconds($0) }
    }

    /// An amount of money: a number, or a string of digits.
    func decimal(_ member: String) throws -> Decimal? {
        guard let value = self.value(member) else { return nil }
        return try self.decimal(value, member)
    }

    private func decimal(_ value: JSONValue, _ member: String) throws -> Decimal {
        let number = value.number ?? value.string.flatMap { JSONNumber(literal: $0) }
        guard let decimal = number?.decimal, decimal.isFinite else {
            throw self.error(member, "is not a number")
        }
        return decimal
    }

    /// An object of amounts, such as `{"CZK": 500}`.
    func decimals(_ member: String) throws -> [String: Decimal]? {
        guard let value = self.value(member) else { return nil }
        guard let object = value.object else { throw self.error(member, "is not an object") }
        var decimals: [String: Decimal] = [:]
        for (name, value) in zip(object.keys, object.members.map(\.value)) {
            guard decimals[name] == nil else { throw self.error("\(member).\(name)", "is given more than once") }
            decimals[name] = try self.decimal(value, "\(member).\(name)")
        }
        return decimals
    }

    /// The place of a sealing key. Whether there is one is found out when the store is opened.
    func sealingKey(_ member: String) throws -> SealingKeyPlace? {
        guard let string = try self.string(member) else { return nil }
        guard let place = SealingKeyPlace(string) else {
            throw self.error(member, "is none of: file:PATH, env:NAME, command:PROGRAM ARGUMENT…")
        }
        return place
    }

    /// A section of the file.
    func section<Value>(_ member: String, _ body: (SettingsReader) throws -> Value) throws -> Value {
        try Self.read(self.value(member), at: self.name(member), EnvironmentSettings.members(of: member), body)
    }

    /// A list of objects with these members; empty when it is missing.
    func objects<Value>(
        _ member: String,
        of members: [String],
        _ body: (SettingsReader) throws -> Value
    ) throws -> [Value] {
        guard let value = self.value(member) else { return [] }
        guard let elements = value.array else { throw self.error(member, "is not a list") }
        return try elements.enumerated().map { index, element in
            try Self.read(element, at: "\(self.name(member))[\(index)]", members, body)
        }
    }
}
