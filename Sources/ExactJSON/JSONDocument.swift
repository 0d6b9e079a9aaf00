/// A JSON document that was checked once, with an index of its values.
///
/// Strings and numbers stay bytes until a ``JSONView`` decodes them: a list of operations has tens of thousands of strings, of
/// which a reader needs some.
package final class JSONDocument: Sendable {
    package let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Checks that `bytes` is one JSON value (RFC 8259, UTF-8, no byte order mark) within the limits.
    package init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        var scanner = JSONScanner(bytes: bytes, limits: limits)
        self.nodes = try scanner.scan()
        self.bytes = bytes
    }

    /// The value of the whole document.
    package var root: JSONView { JSONView(document: self, index: 0) }
}

/// A value in the index. The parts of an array or object follow it; in an object, each key comes before its value.
struct JSONNode {
    enum Kind: UInt8 {
        case null, `true`, `false`, number, string, array, object
    }

    let kind: Kind
    /// Indicates whether a string has escapes, so that its bytes differ from its value.
    var isEscaped = false
    /// The beginning and end of the value's bytes, for strings without the quotes.
    let start: UInt32
    var end: UInt32
    /// The index after this value and all its parts.
    var next: UInt32
}
