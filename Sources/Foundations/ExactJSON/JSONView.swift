import Basics

/// A value in a ``JSONDocument``, read in place.
package struct JSONView: Sendable {
    package let document: JSONDocument
    let index: Int

    private var node: JSONNode { self.document.nodes[self.index] }

    /// The value's range in the document, including a string's quotes.
    package var range: Range<Int> {
        let node = self.node
        let quote = node.kind == .string ? 1 : 0
        return (Int(node.start) - quote)..<(Int(node.end) + quote)
    }

    /// The original bytes of the value.
    package var bytes: ArraySlice<UInt8> { self.document.bytes[self.range] }

    package var isNull: Bool { self.node.kind == .null }
    package var isArray: Bool { self.node.kind == .array }
    package var isObject: Bool { self.node.kind == .object }

    package var bool: Bool? {
        switch self.node.kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The string; `nil` for other values and for half a surrogate pair, which is not valid Unicode.
    package var string: String? {
        let node = self.node
        guard node.kind == .string else { return nil }
        let range = Int(node.start)..<Int(node.end)
        if node.isEscaped { return JSONString.unescaped(range, of: self.document.bytes) }
        return String(decoding: self.document.bytes[range], as: UTF8.self)
    }

    package var number: JSONNumber? {
        guard self.node.kind == .number else { return nil }
        return JSONNumber(scanned: String(decoding: self.bytes, as: UTF8.self))
    }

    /// The elements of an array; empty for other values.
    package var elements: JSONElements {
        JSONElements(document: self.document, parts: self.node.kind == .array ? self.parts : 0..<0)
    }

    /// The members of an object in order; empty for other values.
    package var members: JSONMembers {
        JSONMembers(document: self.document, parts: self.node.kind == .object ? self.parts : 0..<0)
    }

    private var parts: Range<Int> { (self.index + 1)..<Int(self.node.next) }
}

// MARK: - Members by name

/// An object's member with a name.
package enum JSONMember: Sendable {
    case absent
    case one(JSONView)
    /// There are several, so the meaning depends on the reader.
    case repeated
}

extension JSONView {
    /// Returns the member with a name; `absent` for other values than objects.
    package func member(_ name: String) -> JSONMember {
        let nodes = self.document.nodes
        guard nodes[self.index].kind == .object else { return .absent }
        var found = JSONMember.absent
        var key = self.index + 1
        let end = Int(nodes[self.index].next)
        let length = name.utf8.count
        while key < end {
            let node = nodes[key]
            // Most names differ in length.
            if node.isEscaped || Int(node.end - node.start) == length, self.isName(name, at: node) {
                guard case .absent = found else { return .repeated }
                found = .one(JSONView(document: self.document, index: key + 1))
            }
            key = Int(nodes[key + 1].next)
        }
        return found
    }

    /// The member with a name, if there is exactly one.
    package subscript(_ name: String) -> JSONView? {
        guard case .one(let value) = self.member(name) else { return nil }
        return value
    }

    private func isName(_ name: String, at key: JSONNode) -> Bool {
        let range = Int(key.start)..<Int(key.end)
        if key.isEscaped { return JSONString.unescaped(range, of: self.document.bytes)?.isExactly(name) ?? false }
        return name.isExactly(self.document.bytes[range])
    }
}

// MARK: - Sequences

package struct JSONElements: Sequence, IteratorProtocol, Sendable {
    let document: JSONDocument
    var parts: Range<Int>

    package mutating func next() -> JSONView? {
        guard let index = self.parts.first else { return nil }
        self.parts = Int(self.document.nodes[index].next)..<self.parts.upperBound
        return JSONView(document: self.document, index: index)
    }
}

package struct JSONMembers: Sequence, IteratorProtocol, Sendable {
    let document: JSONDocument
    var parts: Range<Int>

    package mutating func next() -> (name: JSONView, value: JSONView)? {
        guard let index = self.parts.first else { return nil }
        self.parts = Int(self.document.nodes[index + 1].next)..<self.parts.upperBound
        return (JSONView(document: self.document, index: index), JSONView(document: self.document, index: index + 1))
    }
}
