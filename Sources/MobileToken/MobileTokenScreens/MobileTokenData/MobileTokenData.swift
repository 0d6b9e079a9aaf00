public import ExactJSON
public import PowerAuthClient

/// An app's own data, sent with a decision, such as a person's path through the screens before it.
///
/// ```swift
/// var data = MobileTokenData(["deviceFingerprint": "abc123"])
/// try data.encode(risk, as: "risk")
/// data.record(recorder)
/// operation.mobileTokenData = data.members
/// ```
///
/// The server defines the names that it understands. Setting a name again replaces its value.
public struct MobileTokenData: Sendable, Hashable {
    /// The members, for `UserOperation.mobileTokenData`.
    public private(set) var members: JSONObject

    /// Creates data with any members.
    public init(_ members: JSONObject = [:]) {
        self.members = members
    }

    /// The value of a name; setting `nil` removes it.
    public subscript(name: String) -> JSONValue? {
        get { self.members[name] }
        set { self.members[name] = newValue }
    }

    /// Sets a value, encoded as JSON.
    ///
    /// - Throws: `invalidRequest` if the value cannot be encoded as JSON.
    public mutating func encode(_ value: some Encodable, as name: String) throws(MobileTokenError) {
        do {
            self.members[name] = try JSONValue(encoding: value)
        } catch {
            throw MobileTokenError(.invalidRequest, "'\(name)' cannot be written as JSON", underlying: error)
        }
    }

    /// Sets a record under its own name.
    public mutating func record(_ record: some MobileTokenData.Record) {
        self.members[record.name] = record.json
    }
}

extension MobileTokenData {
    /// A part of ``MobileTokenData`` with its own name and form.
    public protocol Record: Sendable {
        /// The name that the server expects.
        var name: String { get }
        /// The record so far.
        var json: JSONValue { get }
    }
}
