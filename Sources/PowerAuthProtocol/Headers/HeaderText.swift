import PowerAuthCrypto

/// Writes a `PowerAuth …` header, field by field. Such headers are made for every request, so it is done in one buffer.
struct HeaderText {
    private var bytes: [UInt8] = []

    init() {
        self.bytes.reserveCapacity(384)
        self.append("PowerAuth ")
    }

    /// Adds a field with a text for its value.
    mutating func add(_ name: StaticString, _ value: String) {
        self.begin(name)
        var value = value
        value.withUTF8 { self.bytes.append(contentsOf: $0) }
        self.append("\"")
    }

    /// Adds a field with bytes for its value, in Base64.
    mutating func add(_ name: StaticString, _ value: [UInt8]) {
        self.begin(name)
        Base64.append(value, to: &self.bytes)
        self.append("\"")
    }

    /// The header.
    var value: String { String(decoding: self.bytes, as: UTF8.self) }

    private mutating func begin(_ name: StaticString) {
        if self.bytes.last == UInt8(ascii: "\"") { self.append(", ") }
        self.append(name)
        self.append("=\"")
    }

    private mutating func append(_ text: StaticString) {
        text.withUTF8Buffer { self.bytes.append(contentsOf: $0) }
    }
}
