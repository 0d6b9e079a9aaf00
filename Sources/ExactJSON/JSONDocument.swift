/// A JSON text that was checked once, with an index of its values.
///
/// Nothing is decoded yet: a list of operations has tens of thousands of strings of which a reader wants some, so
/// strings and numbers stay bytes until a ``JSONView`` is asked for them.
package final class JSONDocument: Sendable {
    package let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Checks that the bytes are one JSON value (RFC 8259, UTF-8, no byte order mark) within the limits.
    ///
    /// - Parameter known: Objects that are not checked again where they come again; see ``KnownObjects``.
    package init(
        parsing bytes: [UInt8],
        limits: JSONLimits = JSONLimits(),
        known: KnownObjects? = nil
    ) throws(JSONError) {
        var scanner = JSONScanner(bytes: bytes, limits: limits, known: known)
        self.nodes = try scanner.scan()
        self.bytes = bytes
    }

    /// The value that the whole text is.
    package var root: JSONView { JSONView(document: self, index: 0) }
}

/// One value in the index. The parts of an array or object follow it; in an object, each key comes before its value.
struct JSONNode {
    enum Kind: UInt8 {
        case null, `true`, `false`, number, string, array, object
        /// An object that was known before. Its parts are not in the index.
        case knownObject
    }

    let kind: Kind
    /// Whether a string has escapes, so that its bytes are not its text.
    var isEscaped = false
    /// Where the value's bytes begin and end; for strings without the quotes.
    let start: UInt32
    var end: UInt32
    /// The index behind this value and all its parts.
    var next: UInt32
    /// Which of the known objects it is, if it is one.
    var known: UInt32 = 0
}
