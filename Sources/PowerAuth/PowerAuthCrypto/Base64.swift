import COpenSSL

/// Base64 with the standard alphabet and padding.
package enum Base64 {
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { Self.encode($0) }
    }

    /// Encodes `secret`. Send the result only in encrypted messages.
    package static func encode(_ secret: SecretBytes) -> String {
        secret.withUnsafeBytes { Self.encode($0) }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: Self.encodedCapacity(bytes)) { Self.encode(bytes, into: $0) }
    }

    /// Appends `bytes` in Base64, as ASCII.
    package static func append(_ bytes: [UInt8], to string: inout [UInt8]) {
        bytes.withUnsafeBytes { Self.append($0, to: &string) }
    }

    package static func append(_ bytes: UnsafeRawBufferPointer, to string: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.encodedCapacity(bytes)) { buffer in
            let count = Self.encode(bytes, into: buffer)
            string.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Decodes `string`; `nil` if it is not canonical Base64: padding is required, spare bits are zero, and whitespace is not
    /// allowed.
    package static func decode(_ string: String) -> [UInt8]? {
        var string = string
        return string.withUTF8 { Self.decode($0) }
    }

    /// Decodes `string` as leniently as servers: padding may be omitted entirely, and spare bits may be set.
    package static func decodeTolerantly(_ string: String) -> [UInt8]? {
        if let bytes = Self.decode(string) { return bytes }
        var digits = Array(string.utf8)
        if digits.count.isMultiple(of: 4) {
            for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        let count = digits.count * 6 / 8
        while !digits.count.isMultiple(of: 4) { digits.append(UInt8(ascii: "A")) }
        return digits.withUnsafeBufferPointer { Self.decode($0) }.map { Array($0.prefix(count)) }
    }

    /// Decodes a secret; `nil` if `string` is not Base64.
    package static func decodeSecret(_ string: String) -> SecretBytes? {
        var string = string
        return string.withUTF8 { Self.decodeSecret(UnsafeRawBufferPointer($0)) }
    }

    /// Decodes a secret from characters; `nil` if they are not Base64.
    package static func decodeSecret(_ string: UnsafeRawBufferPointer) -> SecretBytes? {
        guard var bytes = string.withMemoryRebound(to: UInt8.self, { Self.decode($0) }) else { return nil }
        defer { bytes.wipe() }
        return SecretBytes(copying: bytes)
    }

    /// Returns the length of the encoding plus libcrypto's zero byte.
    private static func encodedCapacity(_ bytes: UnsafeRawBufferPointer) -> Int { (bytes.count + 2) / 3 * 4 + 1 }

    private static func encode(_ bytes: UnsafeRawBufferPointer, into string: UnsafeMutableBufferPointer<UInt8>) -> Int {
        Int(EVP_EncodeBlock(string.baseAddress, bytes.octets, Int32(bytes.count)))
    }

    fileprivate static func decode(_ string: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard string.count.isMultiple(of: 4), string.count <= Int(Int32.max) else { return nil }
        var bytes = [UInt8](repeating: 0, count: string.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, string.baseAddress, Int32(string.count)) == bytes.count else { return nil }
        bytes.removeLast(string.suffix(2).count(where: { $0 == UInt8(ascii: "=") }))
        // libcrypto also accepts non-canonical encodings, such as set spare bits.
        let isCanonical = bytes.withUnsafeBytes { bytes in
            withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.encodedCapacity(bytes)) { canonical in
                let count = Self.encode(bytes, into: canonical)
                return constantTimeEquals(
                    UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(canonical)[..<count]),
                    UnsafeRawBufferPointer(string)
                )
            }
        }
        return isCanonical ? bytes : nil
    }
}

/// Base64 with the URL-safe alphabet and without padding, as in JSON web tokens.
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
        var string: [UInt8] = []
        Base64.append(bytes, to: &string)
        return String(decoding: string.prefix { $0 != UInt8(ascii: "=") }.map(Self.toURL), as: UTF8.self)
    }

    /// Encodes `secret` as a secret string.
    package static func encode(_ secret: SecretBytes) -> SecretBytes {
        var string: [UInt8] = []
        string.reserveCapacity(secret.count * 2 + 4)  // growing would leave copies behind
        defer { string.wipe() }
        secret.withUnsafeBytes { Base64.append($0, to: &string) }
        return SecretBytes(copying: string.prefix { $0 != UInt8(ascii: "=") }.lazy.map(Self.toURL))
    }

    /// Decodes `string`; `nil` unless it is canonical, without padding.
    package static func decode(_ string: String) -> [UInt8]? {
        var digits: [UInt8] = []
        digits.reserveCapacity(string.utf8.count + 3)
        for digit in string.utf8 {
            switch digit {
            case UInt8(ascii: "-"): digits.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): digits.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: digits.append(digit)
            }
        }
        while !digits.count.isMultiple(of: 4) { digits.append(UInt8(ascii: "=")) }
        return digits.withUnsafeBufferPointer { Base64.decode($0) }
    }

    private static func toURL(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }
}
