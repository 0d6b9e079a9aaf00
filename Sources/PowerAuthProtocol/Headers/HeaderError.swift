import Basics
import PowerAuthCrypto

/// Why a `PowerAuth …` header was refused. Names the field, never its value.
package struct HeaderError: Error, Equatable, CustomStringConvertible {
    /// What is wrong with the field.
    package enum Problem: String, Sendable {
        /// It is not there.
        case missing
        /// It does not have the form that it must have.
        case invalid
        /// It is there although it must not be.
        case unexpected
    }

    /// The name of the field as it stands in the header.
    package let field: String
    /// What is wrong with it.
    package let problem: Problem

    package init(_ field: String, _ problem: Problem) {
        self.field = field
        self.problem = problem
    }

    package var description: String { "header field \(self.field) is \(self.problem.rawValue)" }
}

extension HeaderFields {
    /// A field that must be there, in the form that `read` understands.
    func required<Value>(_ name: String, _ read: (String) -> Value?) throws(HeaderError) -> Value {
        guard let text = self[name] else { throw HeaderError(name, .missing) }
        guard let value = read(text) else { throw HeaderError(name, .invalid) }
        return value
    }
}

/// The forms that values in headers have.
enum HeaderValue {
    /// An identifier: a UUID of version 1 to 5, with dashes; capitals do not matter.
    static func identifier(_ text: String) -> String? { UUIDText.isValid(text) ? text : nil }

    /// Bytes of a given number, in Base64.
    static func bytes(_ count: Int) -> (String) -> [UInt8]? {
        { text in Base64.decode(text).flatMap { $0.count == count ? $0 : nil } }
    }

    /// An application key: 16 bytes in Base64, kept as text.
    static func applicationKey(_ text: String) -> String? { Self.bytes(16)(text) == nil ? nil : text }

    static func version(_ text: String) -> ProtocolVersion? { ProtocolVersion(rawValue: text) }

    /// Milliseconds since 1970, as 9 to 15 digits.
    static func timestamp(_ text: String) -> Int64? {
        guard (9...15).contains(text.utf8.count), text.utf8.allSatisfy(\.isASCIIDigit) else {
            return nil
        }
        return Int64(text)
    }
}
