import COpenSSL

/// Base64 with the standard alphabet and padding.
package enum Base64 {
    /// Returns `bytes` as a Base64 string.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { Self.encode($0) }
    }

    /// Returns `secret` as a Base64 string, to be sent over an encrypted channel only.
    package static func encode(_ secret: SecretBytes) -> String {
        secret.withUnsafeBytes { Self.encode($0) }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: Self.roomToEncode(bytes)) { Self.encode(bytes, into: $0) }
    }

    /// Appends `bytes` in Base64, as ASCII.
    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) {
        bytes.withUnsafeBytes { Self.append($0, to: &text) }
    }

    /// Appends `bytes` in Base64, as ASCII.
    package static func append(_ bytes: UnsafeRawBufferPointer, to text: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.roomToEncode(bytes)) { buffer in
            let count = Self.encode(bytes, into: buffer)
            text.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns the bytes that `text` encodes, or `nil`.
    ///
    /// There is one string for given bytes: padding is required, spare bits must be zero, and nothing else may be there.
    package static func decode(_ text: String) -> [UInt8]? {
        var text = text
        return text.withUTF8 { Self.decode($0) }
    }

    /// Returns the secret that `text` encodes, or `nil`.
    package static func decodeSecret(_ text: String) -> SecretBytes? {
        guard var bytes = Self.decode(text) else { return nil }
        defer { bytes.wipe() }
        return SecretBytes(copying: bytes)
    }

    /// The length of the encoding, and libcrypto's zero byte after it.
    private static func roomToEncode(_ bytes: UnsafeRawBufferPointer) -> Int { (bytes.count + 2) / 3 * 4 + 1 }

    private static func encode(_ bytes: UnsafeRawBufferPointer, into text: UnsafeMutableBufferPointer<UInt8>) -> Int {
        let source = bytes.address.assumingMemoryBound(to: UInt8.self)
        return Int(EVP_EncodeBlock(text.baseAddress, source, Int32(bytes.count)))
    }

    fileprivate static func decode(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4), text.count <= Int(Int32.max) else { return nil }
        var bytes = [UInt8](repeating: 0, count: text.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, text.baseAddress, Int32(text.count)) == bytes.count else { return nil }
        bytes.removeLast(text.suffix(2).count(where: { $0 == UInt8(ascii: "=") }))
        // libcrypto takes more spellings than the one it writes itself, such as spare bits that are set.
        let isCanonical = bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.roomToEncode(bytes)) { canonical in
                canonical.prefix(Self.encode(bytes, into: canonical)).elementsEqual(text)
            }
        }
        return isCanonical ? bytes : nil
    }
}

/// Base64 with the alphabet that is safe in URLs, without padding: the form inside JSON web tokens.
package enum Base64URL {
    /// Returns `bytes` as a string.
    package static func encode(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        Base64.append(bytes, to: &text)
        return String(decoding: text.prefix { $0 != UInt8(ascii: "=") }.map(Self.toURL), as: UTF8.self)
    }

    /// Returns the bytes that `text` encodes, or `nil`: no padding, spare bits zero, nothing else.
    package static func decode(_ text: String) -> [UInt8]? {
        guard text.utf8.allSatisfy({ !"+/=".utf8.contains($0) }) else { return nil }
        let padding = repeatElement(UInt8(ascii: "="), count: (4 - text.utf8.count % 4) % 4)
        return (text.utf8.map(Self.fromURL) + padding).withUnsafeBufferPointer { Base64.decode($0) }
    }

    private static func toURL(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }

    private static func fromURL(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: digit
        }
    }
}
