import Basics
import PowerAuthCrypto

/// Parsers for header values. Each returns `nil` for a malformed string.
enum HeaderValue {
    /// Parses an identifier: a UUID of version 1 to 5 with dashes. Case-insensitive.
    static func identifier(_ string: String) -> String? { UUIDString.isValid(string) ? string : nil }

    /// Returns a parser for `count` bytes in Base64, as lenient as servers.
    static func bytes(_ count: Int) -> (String) -> [UInt8]? {
        { string in Base64.decodeTolerantly(string).flatMap { $0.count == count ? $0 : nil } }
    }

    /// Parses a signature or authentication code, even one of another type's length or a decimal one: these are well-formed but
    /// wrong, and count as failures.
    ///
    /// - Parameter lengths: The possible lengths of the Base64 string.
    static func code(_ string: String, lengths: [Int]) -> [UInt8]? {
        if lengths.contains(string.utf8.count) { return Base64.decodeTolerantly(string) }
        let groups = string.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        let isDecimal =
            (1...3).contains(groups.count) && groups.allSatisfy { $0.count == 8 && $0.allSatisfy(\.isASCIIDigit) }
        return isDecimal ? Array(string.utf8) : nil
    }

    /// Parses an application key: 16 bytes in Base64, returned unchanged.
    static func applicationKey(_ string: String) -> String? { Self.bytes(16)(string) == nil ? nil : string }

    /// Parses a protocol version before 4.
    static func version3(_ string: String) -> ProtocolVersion? {
        ProtocolVersion(rawValue: string).flatMap { $0.isVersion3 ? $0 : nil }
    }

    /// Parses protocol version 4.
    static func version4(_ string: String) -> ProtocolVersion? {
        ProtocolVersion(rawValue: string).flatMap { $0.isVersion3 ? nil : $0 }
    }

    /// Parses milliseconds since 1970, with 9 to 15 digits.
    static func timestamp(_ string: String) -> Int64? {
        guard (9...15).contains(string.utf8.count), string.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(string)
    }
}

extension HeaderFields {
    /// Returns the field `name`, parsed by `read`.
    ///
    /// - Throws: `missing` without the field; `invalid` if `read` returns `nil`.
    func required<Value>(_ name: String, _ read: (String) -> Value?) throws(HeaderError) -> Value {
        guard let string = self[name] else { throw HeaderError(name, .missing) }
        guard let value = read(string) else { throw HeaderError(name, .invalid) }
        return value
    }
}
