/// Base64 with the standard alphabet and padding.
package enum Base64 {
    /// The text of some bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { Base64Alphabet.standard.encode($0) }
    }

    /// Appends the text of some bytes, as ASCII.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        bytes.withUnsafeBytes { Self.append($0, to: &text) }
    }

    /// Appends the text of some bytes, as ASCII.
    package static func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        Base64Alphabet.standard.append(bytes, to: &text)
    }

    /// The text of a secret, to be sent over an encrypted way only.
    package static func encode(_ secret: SecretBytes) -> String {
        secret.withUnsafeBytes { Base64Alphabet.standard.encode($0) }
    }

    /// The bytes of a text, or `nil`.
    ///
    /// There is one text for given bytes: padding is required, spare bits must be zero, and nothing else may be there.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.standard.decode(text)
    }

    /// The secret of a text, or `nil`.
    package static func decodeSecret(_ text: String) -> SecretBytes? {
        guard var bytes = Base64Alphabet.standard.decode(text) else { return nil }
        defer { bytes.wipe() }
        return SecretBytes(copying: bytes)
    }
}

/// Base64 with the alphabet that is safe in URLs, without padding: the form inside JSON web tokens.
package enum Base64URL {
    /// The text of some bytes.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { Base64Alphabet.url.encode($0) }
    }

    /// The bytes of a text, or `nil`: no padding, spare bits zero, nothing else.
    package static func decode(_ text: String) -> [UInt8]? {
        Base64Alphabet.url.decode(text)
    }
}

private struct Base64Alphabet: Sendable {
    static let standard = Self(last: "+/", isPadded: true)
    static let url = Self(last: "-_", isPadded: false)

    private let digits: [UInt8]
    /// The value of each character; 0xFF for those outside the alphabet.
    private let values: [UInt8]
    private let isPadded: Bool

    private init(last: String, isPadded: Bool) {
        self.digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789\(last)".utf8)
        var values = [UInt8](repeating: 0xFF, count: 256)
        for (value, digit) in self.digits.enumerated() { values[Int(digit)] = UInt8(value) }
        self.values = values
        self.isPadded = isPadded
    }

    func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: self.textCount(of: bytes)) { self.encode(bytes, into: $0) }
    }

    func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: self.textCount(of: bytes)) { buffer in
            let count = self.encode(bytes, into: buffer)
            text.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
    }

    private func textCount(of bytes: UnsafeRawBufferPointer) -> Int {
        self.isPadded ? (bytes.count + 2) / 3 * 4 : (bytes.count * 4 + 2) / 3
    }

    private func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableBufferPointer<UInt8>) -> Int {
        self.digits.withUnsafeBufferPointer { digits in
            var written = 0
            func write(_ group: UInt32, digitCount: Int) {
                for digit in 0..<digitCount {
                    text[written] = digits[Int(group >> UInt32(18 - 6 * digit)) & 0x3F]
                    written += 1
                }
            }
            var index = 0
            while index + 3 <= bytes.count {
                write(
                    UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8 | UInt32(bytes[index + 2]),
                    digitCount: 4
                )
                index += 3
            }
            let rest = bytes.count - index
            if rest > 0 {
                let second = rest == 2 ? UInt32(bytes[index + 1]) << 8 : 0
                write(UInt32(bytes[index]) << 16 | second, digitCount: rest + 1)
                if self.isPadded {
                    for _ in rest..<3 {
                        text[written] = UInt8(ascii: "=")
                        written += 1
                    }
                }
            }
            return written
        }
    }

    func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { self.decode($0) }
    }

    private func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        var digitCount = text.count
        if self.isPadded {
            guard text.count.isMultiple(of: 4) else { return nil }
            while digitCount > 0, text.count - digitCount < 2, text[digitCount - 1] == UInt8(ascii: "=") {
                digitCount -= 1
            }
        }
        guard digitCount % 4 != 1 else { return nil }
        var bytes = [UInt8]()
        bytes.reserveCapacity(digitCount * 3 / 4)
        var pending: UInt32 = 0
        var pendingBits = 0
        for character in text[..<digitCount] {
            let value = self.values[Int(character)]
            guard value != 0xFF else { return nil }
            pending = pending << 6 | UInt32(value)
            pendingBits += 6
            if pendingBits >= 8 {
                pendingBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
                pending &= (1 << UInt32(pendingBits)) - 1
            }
        }
        return pending == 0 ? bytes : nil
    }
}
