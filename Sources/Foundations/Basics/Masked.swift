/// A secret that descriptions, `dump` and mirrors show as `***`.
public struct Masked<Value> {
    /// The secret.
    public var value: Value

    /// Wraps a secret.
    @inlinable public init(_ value: Value) { self.value = value }
}

extension Masked: Sendable where Value: Sendable {}
extension Masked: Equatable where Value: Equatable {}
extension Masked: Hashable where Value: Hashable {}

extension Masked: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Asterisks, whatever the value.
    public var description: String { "***" }
    /// Asterisks, whatever the value.
    public var debugDescription: String { "***" }
    /// Empty.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
