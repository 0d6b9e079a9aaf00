import Basics
import PowerAuthCrypto

/// The forms of values in headers. Each function returns `nil` for a string of another form.
enum HeaderValue {
    /// Reads an identifier: a UUID of version 1 to 5 with dashes. Case-insensitive.
    static func identifier(_ string: String) -> String? { UUIDString.isValid(string) ? string : nil }

    /// Returns a function that reads `count` bytes in Base64.
    static func bytes(_ count: Int) -> (String) -> [UInt8]? {
        { string in Base64.decode(string).flatMap { $0.count == count ? $0 : nil } }
    }

    /// Reads an application key: 16 bytes in Base64, returned as it is.
    static func applicationKey(_ string: String) -> String? { Self.bytes(16)(string) == nil ? nil : string }

    /// Reads a version of the protocol before 4.
    static func version3(_ string: String) -> ProtocolVersion? {
        ProtocolVersion(rawValue: string).flatMap { $0.isVersion3 ? $0 : nil }
    }

    /// Reads version 4 of the protocol.
    static func version4(_ string: String) -> ProtocolVersion? {
        ProtocolVersion(rawValue: string).flatMap { $0.isVersion3 ? nil : $0 }
    }

    /// Reads milliseconds since 1970, written with 9 to 15 digits.
    static func timestamp(_ string: String) -> Int64? {
        guard (9...15).contains(string.utf8.count), string.utf8.allSatisfy(\.isASCIIDigit) else { return nil }
        return Int64(string)
    }
}

extension HeaderFields {
    /// Returns the field `name` as `read` returns it.
    ///
    /// - Throws: `missing` when there is none, `invalid` when `read` returns `nil`.
    func required<Value>(_ name: String, _ read: (String) -> Value?) throws(HeaderError) -> Value {
        guard let string = self[name] else { throw HeaderError(name, .missing) }
        guard let value = read(string) else { throw HeaderError(name, .invalid) }
        return value
    }
}
