/// A copy of a value with a change, such as a configuration that differs from the usual one in a property.
package func altered<Value>(_ value: Value, _ change: (inout Value) throws -> Void) rethrows -> Value {
    var value = value
    try change(&value)
    return value
}
