import PowerAuthCrypto

/// Writes a `PowerAuth …` header into one buffer, because every request has one.
struct HeaderWriter {
    private var bytes: [UInt8] = []

    init() {
        self.bytes.reserveCapacity(384)
        self.append("PowerAuth ")
    }

    mutating func add(_ name: StaticString, _ value: String) {
        self.begin(name)
        var value = value
        value.withUTF8 { self.bytes.append(contentsOf: $0) }
        self.append("\"")
    }

    mutating func add(_ name: StaticString, _ value: [UInt8]) {
        self.begin(name)
        Base64.append(value, to: &self.bytes)
        self.append("\"")
    }

    var value: String { String(decoding: self.bytes, as: UTF8.self) }

    private mutating func begin(_ name: StaticString) {
        if self.bytes.last == UInt8(ascii: "\"") { self.append(", ") }
        self.append(name)
        self.append("=\"")
    }

    private mutating func append(_ string: StaticString) {
        string.withUTF8Buffer { self.bytes.append(contentsOf: $0) }
    }
}
