public import ExactJSON
public import PowerAuth

/// Data of an app's own that go to the server along with a decision, such as how a person went through the screens before it.
///
/// ```swift
/// var data = MobileTokenData(["deviceFingerprint": "abc123"])
/// try data.encode(risk, as: "risk")
/// data.record(recorder)
/// operation.mobileTokenData = data.members
/// ```
///
/// The server side defines what it understands. A name that is set again gets the newer value.
public struct MobileTokenData: Sendable, Hashable {
    /// The members, as ``AuthorizableOperation/mobileTokenData`` takes them.
    public private(set) var members: JSONObject

    /// Creates data with members of any names.
    public init(_ members: JSONObject = [:]) {
        self.members = members
    }

    /// The value of a name; setting `nil` removes it.
    public subscript(name: String) -> JSONValue? {
        get { self.members[name] }
        set { self.members[name] = newValue }
    }

    /// Sets the JSON of a value.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` when the value cannot be written as JSON.
    public mutating func encode(_ value: some Encodable, as name: String) throws(MobileTokenError) {
        do {
            self.members[name] = try JSONValue(encoding: value)
        } catch {
            throw MobileTokenError(.invalidRequest, "'\(name)' cannot be written as JSON", underlying: error)
        }
    }

    /// Sets a record, under its own name.
    public mutating func record(_ record: some MobileTokenData.Record) {
        self.members[record.name] = record.json
    }
}

extension MobileTokenData {
    /// A part of ``MobileTokenData`` with a name and a form of its own.
    public protocol Record: Sendable {
        /// The name that the server side knows it by.
        var name: String { get }
        /// The record so far.
        var json: JSONValue { get }
    }
}
