import Basics
public import ExactJSON
public import Foundation

/// The answer to a call, with the moment at which the server gave it.
///
/// The members of ``value`` are those of the answer itself: `response.status` is `response.value.status`.
@dynamicMemberLookup
public struct CloudResponse<Value: Sendable>: Sendable {
    /// The content of the answer.
    public let value: Value
    /// The server's time when it answered, in whole seconds: its `Date`. `nil` when it tells none.
    public let date: Date?
    /// The answer as it came, with the members that this version of the library does not know. May hold personal data.
    public let json: JSONValue

    init(_ value: Value, date: Date?, json: JSONValue) {
        (self.value, self.date, self.json) = (value, date, json)
    }

    /// Returns a member of the content.
    public subscript<Member>(dynamicMember path: KeyPath<Value, Member>) -> Member { self.value[keyPath: path] }
}

extension CloudResponse: Identifiable where Value: Identifiable {
    /// The identifier of the content.
    public var id: Value.ID { self.value.id }
}

extension CloudResponse: CustomStringConvertible, CustomReflectable {
    /// The description of the content, which tells nothing personal.
    public var description: String { "\(self.value)" }
    /// Empty, so that `dump` reveals no parameters.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
