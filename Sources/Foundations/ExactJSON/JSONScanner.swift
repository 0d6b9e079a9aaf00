/// Validates a JSON document and builds its index, without recursion.
struct JSONScanner {
    private let bytes: [UInt8]
    private let limits: JSONLimits
    private var position = 0
    private var nodes: [JSONNode] = []
    /// The indices of open arrays and objects.
    private var open: [Int] = []

    init(bytes: [UInt8], limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    mutating func scan(ignoresRest: Bool) throws(JSONError) -> [JSONNode] {
        guard self.bytes.count <= self.limits.maximumByteCount else {
            throw JSONError(.tooLarge, at: self.limits.maximumByteCount)
        }
        self.nodes.reserveCapacity(self.bytes.count / 12 + 1)
        self.skipWhitespace()
        try self.scanValue()
        while let container = self.open.last {
            guard self.nodes.count <= self.limits.maximumValueCount else {
                throw JSONError(.tooLarge, at: self.position)
            }
            try self.scanNextPart(of: container)
        }
        self.skipWhitespace()
        guard ignoresRest || self.position == self.bytes.count else { throw self.unexpected() }
        return self.nodes
    }

    /// Reads or closes the next part of the innermost open array or object.
    private mutating func scanNextPart(of container: Int) throws(JSONError) {
        let isObject = self.nodes[container].kind == .object
        self.skipWhitespace()
        if self.peek() == UInt8(ascii: isObject ? "}" : "]") {
            self.position += 1
            self.nodes[container].end = UInt32(self.position)
            self.nodes[container].next = UInt32(self.nodes.count)
            self.open.removeLast()
            return
        }
        let isFirst = self.nodes.count == container + 1
        if !isFirst {
            try self.consume(UInt8(ascii: ","))
            self.skipWhitespace()
        }
        if isObject {
            try self.scanString()
            self.skipWhitespace()
            try self.consume(UInt8(ascii: ":"))
            self.skipWhitespace()
        }
        try self.scanValue()
    }

    private mutating func scanValue() throws(JSONError) {
        guard let first = self.peek() else { throw self.unexpected() }
        switch first {
        case UInt8(ascii: "\""): try self.scanString()
        case UInt8(ascii: "{"): try self.openContainer(.object)
        case UInt8(ascii: "["): try self.openContainer(.array)
        case UInt8(ascii: "t"): try self.scanWord("true", .true)
        case UInt8(ascii: "f"): try self.scanWord("false", .false)
        case UInt8(ascii: "n"): try self.scanWord("null", .null)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try self.scanNumber()
        default: throw self.unexpected()
        }
    }

    private mutating func openContainer(_ kind: JSONNode.Kind) throws(JSONError) {
        guard self.open.count < self.limits.maximumDepth else { throw JSONError(.tooDeep, at: self.position) }
        self.open.append(self.nodes.count)
        self.append(kind, from: self.position, to: self.position)
        self.position += 1
    }

    private mutating func scanWord(_ word: StaticString, _ kind: JSONNode.Kind) throws(JSONError) {
        let start = self.position
        for character in word.description.utf8 { try self.consume(character) }
        self.append(kind, from: start, to: self.position)
    }

    private mutating func scanNumber() throws(JSONError) {
        let start = self.position
        guard let end = JSONNumber.endOfLiteral(in: self.bytes, from: start) else {
            throw JSONError(.invalidNumber, at: start)
        }
        self.position = end
        self.append(.number, from: start, to: end)
    }

    private mutating func scanString() throws(JSONError) {
        try self.consume(UInt8(ascii: "\""))
        let start = self.position
        var isEscaped = false
        while self.position < self.bytes.count {
            // Range patterns would be several times slower in debug builds.
            let byte = self.bytes[self.position]
            if byte == UInt8(ascii: "\"") {
                self.append(.string, from: start, to: self.position, isEscaped: isEscaped)
                self.position += 1
                return
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
                try self.skipEscape()
            } else if byte < 0x20 {
                throw JSONError(.controlCharacter, at: self.position)
            } else if byte < 0x80 {
                self.position += 1
            } else {
                guard let length = UTF8Sequence.length(in: self.bytes, at: self.position) else {
                    throw JSONError(.invalidUTF8, at: self.position)
                }
                self.position += length
            }
        }
        throw JSONError(.unexpectedEnd, at: self.position)
    }

    /// Skips an escape. Surrogate pairs are checked when the string is read, because the document is still valid JSON.
    private mutating func skipEscape() throws(JSONError) {
        let start = self.position
        self.position += 1
        switch self.peek() {
        case UInt8(ascii: "u"):
            guard JSONString.hexadecimal(in: self.bytes, at: self.position + 1) != nil else {
                throw JSONError(.invalidEscape, at: start)
            }
            self.position += 5
        case let character? where JSONString.unescaped(character) != nil:
            self.position += 1
        default:
            throw JSONError(.invalidEscape, at: start)
        }
    }

    private mutating func append(_ kind: JSONNode.Kind, from start: Int, to end: Int, isEscaped: Bool = false) {
        // 32 bits suffice: the byte limit is lower, and there are fewer values than bytes.
        let next = UInt32(self.nodes.count + 1)
        self.nodes.append(
            JSONNode(kind: kind, isEscaped: isEscaped, start: UInt32(start), end: UInt32(end), next: next)
        )
    }

    private mutating func skipWhitespace() {
        while self.position < self.bytes.count {
            switch self.bytes[self.position] {
            case 0x20, 0x0A, 0x0D, 0x09: self.position += 1
            default: return
            }
        }
    }

    private func peek() -> UInt8? {
        self.position < self.bytes.count ? self.bytes[self.position] : nil
    }

    private mutating func consume(_ character: UInt8) throws(JSONError) {
        guard self.peek() == character else { throw self.unexpected() }
        self.position += 1
    }

    private func unexpected() -> JSONError {
        JSONError(self.position < self.bytes.count ? .unexpectedCharacter : .unexpectedEnd, at: self.position)
    }
}
