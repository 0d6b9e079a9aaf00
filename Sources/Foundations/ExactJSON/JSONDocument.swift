/// A validated JSON document with an index of its values. Strings and numbers stay bytes until a ``JSONView`` decodes them,
/// because readers need only some of them.
package final class JSONDocument: Sendable {
    package let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Checks that `bytes` is one JSON value (RFC 8259, UTF-8, no byte order mark) within the limits.
    ///
    /// - Parameter ignoresRest: `true` if anything may follow the value.
    package init(
        parsing bytes: [UInt8],
        limits: JSONLimits = JSONLimits(),
        ignoresRest: Bool = false
    ) throws(JSONError) {
        var scanner = JSONScanner(bytes: bytes, limits: limits)
        self.nodes = try scanner.scan(ignoresRest: ignoresRest)
        self.bytes = bytes
    }

    package var root: JSONView { JSONView(document: self, index: 0) }
}

/// A value in the index. The parts of an array or object follow it; in an object, keys precede their values.
struct JSONNode {
    enum Kind: UInt8 {
        case null, `true`, `false`, number, string, array, object
    }

    let kind: Kind
    /// Indicates whether a string has escapes, so that its bytes differ from its value.
    var isEscaped = false
    /// The range of the value's bytes; without quotes for strings.
    let start: UInt32
    var end: UInt32
    /// The index after this value and all its parts.
    var next: UInt32
}
