import COpenSSL

/// Base64 with the standard alphabet and padding.
package enum Base64 {
    /// Returns `bytes` as a Base64 string.
    package static func encode(_ bytes: [UInt8]) -> String {
        bytes.withUnsafeBytes { Self.encode($0) }
    }

    /// Returns `secret` as a Base64 string. Send it only inside encrypted messages.
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

    /// Appends `bytes` in Base64, as ASCII.
    package static func append(_ bytes: UnsafeRawBufferPointer, to string: inout [UInt8]) {
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.encodedCapacity(bytes)) { buffer in
            let count = Self.encode(bytes, into: buffer)
            string.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[..<count]))
        }
    }

    /// Returns the bytes that `string` encodes; `nil` when it is not Base64.
    ///
    /// Only one string is accepted for given bytes: padding is required, spare bits must be zero, and there is no whitespace.
    package static func decode(_ string: String) -> [UInt8]? {
        var string = string
        return string.withUTF8 { Self.decode($0) }
    }

    /// Returns the secret that `string` encodes; `nil` when it is not Base64.
    package static func decodeSecret(_ string: String) -> SecretBytes? {
        var string = string
        return string.withUTF8 { Self.decodeSecret(UnsafeRawBufferPointer($0)) }
    }

    /// Returns the secret that the characters encode; `nil` when they are not Base64.
    package static func decodeSecret(_ string: UnsafeRawBufferPointer) -> SecretBytes? {
        guard var bytes = string.withMemoryRebound(to: UInt8.self, { Self.decode($0) }) else { return nil }
        defer { bytes.wipe() }
        return SecretBytes(copying: bytes)
    }

    /// Returns the length of the encoding and of the zero byte that libcrypto appends.
    private static func encodedCapacity(_ bytes: UnsafeRawBufferPointer) -> Int { (bytes.count + 2) / 3 * 4 + 1 }

    private static func encode(_ bytes: UnsafeRawBufferPointer, into string: UnsafeMutableBufferPointer<UInt8>) -> Int {
        Int(EVP_EncodeBlock(string.baseAddress, bytes.octets, Int32(bytes.count)))
    }

    fileprivate static func decode(_ string: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard string.count.isMultiple(of: 4), string.count <= Int(Int32.max) else { return nil }
        var bytes = [UInt8](repeating: 0, count: string.count / 4 * 3)
        guard EVP_DecodeBlock(&bytes, string.baseAddress, Int32(string.count)) == bytes.count else { return nil }
        bytes.removeLast(string.suffix(2).count(where: { $0 == UInt8(ascii: "=") }))
        // libcrypto accepts more than the one encoding that it writes itself, such as spare bits that are set.
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

/// Base64 with the alphabet that is safe in URLs, without padding: the form inside JSON web tokens.
package enum Base64URL {
    /// Returns `bytes` as a string.
    package static func encode(_ bytes: [UInt8]) -> String {
        var string: [UInt8] = []
        Base64.append(bytes, to: &string)
        return String(decoding: string.prefix { $0 != UInt8(ascii: "=") }.map(Self.toURL), as: UTF8.self)
    }

    /// Returns the string of `secret`, as a secret.
    package static func encode(_ secret: SecretBytes) -> SecretBytes {
        var string: [UInt8] = []
        string.reserveCapacity(secret.count * 2 + 4)  // growing would leave copies behind
        defer { string.wipe() }
        secret.withUnsafeBytes { Base64.append($0, to: &string) }
        return SecretBytes(copying: string.prefix { $0 != UInt8(ascii: "=") }.lazy.map(Self.toURL))
    }

    /// Returns the bytes that `string` encodes; `nil` unless it has no padding and its spare bits are zero.
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
