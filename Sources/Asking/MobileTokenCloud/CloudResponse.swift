public import ExactJSON
public import Foundation

/// The response to a call, with its time. Members of ``value`` are available directly: `response.status` is
/// `response.value.status`.
@dynamicMemberLookup
public struct CloudResponse<Value: Sendable>: Sendable {
    /// The content of the response.
    public let value: Value
    /// The server's time of the response in whole seconds, from its `Date` header; `nil` without one.
    public let date: Date?
    /// The complete response, including members unknown to this version. May contain personal data.
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

extension CloudResponse: CustomStringConvertible {
    /// The description of the content, without personal data.
    public var description: String { "\(self.value)" }
}
