import Basics
package import ExactJSON
package import Foundation
import SignedContent

/// The required form of a JSON value, and the Swift value read from it.
package struct Form<Value> {
    /// The name of the form, to complete "not …".
    package let name: String
    package let read: (JSONView) -> Value?
}

extension Form where Value == String {
    package static var string: Self { Self(name: "a string") { $0.string } }
    /// An identifier, which is not empty.
    package static var identifier: Self { Self(name: "an identifier") { $0.string.flatMap { $0.isEmpty ? nil : $0 } } }
}

extension Form where Value == String {
    /// A string that some servers escape twice: `\u017Dlu\u0165` for `Žluť`.
    static var unescapedText: Self { Self(name: "a string") { $0.string.map(Self.unescaped) } }

    /// Undoes escapes if the string has some, all are valid, and no character is left that needs one.
    private static func unescaped(_ text: String) -> String {
        // First for a byte: the search for strings costs more than all else about a form.
        let isEscaped = text.utf8.contains(UInt8(ascii: "\\")) && (text.contains("\\u") || text.contains("\\\""))
        guard isEscaped, text.utf8.allSatisfy({ 0x20..<0x80 ~= $0 }) else { return text }
        return (try? JSONValue(parsing: "\"\(text)\""))?.string ?? text
    }
}

extension Form where Value == Bool {
    package static var flag: Self { Self(name: "a Boolean") { $0.bool } }
}

extension Form where Value == Date {
    static var date: Self { Self(name: "a date with an offset") { $0.string.flatMap { ISO8601.date(from: $0) } } }
}

extension Form where Value == Int {
    static var integer: Self { Self(name: "a whole number") { $0.number?.int64.flatMap { Int(exactly: $0) } } }
    /// A nonnegative whole number.
    package static var count: Self {
        Self(name: Self.integer.name) { Self.integer.read($0).flatMap { $0 < 0 ? nil : $0 } }
    }
}

extension Form where Value == JSONView {
    package static var object: Self { Self(name: "an object") { $0.isObject ? $0 : nil } }
    static var array: Self { Self(name: "a list") { $0.isArray ? $0 : nil } }
}

extension Form where Value == ExactAmount {
    static var amount: Self {
        Self(name: "a number with at most 38 digits") { view in
            view.number.flatMap { number in
                number.decimal.map { ExactAmount(value: $0, digits: number.literal) }
            }
        }
    }
}

/// An amount with the digits that the server sent.
struct ExactAmount {
    let value: Decimal
    let digits: String

    /// The digits that the server sent, unless they have an exponent, or a sign before a zero.
    var plainDigits: String {
        let isPlain = self.digits.utf8.allSatisfy { $0.isASCIIDigit || $0 == UInt8(ascii: ".") } || self.value < 0
        return isPlain && !self.digits.utf8.contains { $0 | 0x20 == UInt8(ascii: "e") }
            ? self.digits : self.value.plainText ?? self.digits
    }
}

extension Form where Value: RawRepresentable, Value.RawValue == String {
    /// A raw value of an enumeration, compared byte by byte: `==` takes the Kelvin sign for a K.
    package static var known: Self {
        Self(name: "a known value") { view in
            guard let text = view.string, let value = Value(rawValue: text) else { return nil }
            return value.rawValue.isExactly(text) ? value : nil
        }
    }
}

// MARK: - Members

extension JSONView {
    /// Returns a member that must occur once and have this form.
    package func required<Value>(_ name: String, _ form: Form<Value>, _ log: IssueLog) throws(DecodingIssue) -> Value {
        switch self.member(name) {
        case .absent: throw log.issue(.missing, member: name)
        case .repeated: throw log.issue(.repeated, member: name, at: self)
        case .one(let view):
            if let value = form.read(view) { return value }
            throw log.issue(view.isNull ? .null : .unreadable(expected: form.name), member: name, at: view)
        }
    }

    /// Returns a date that must occur once.
    package func requiredDate(_ name: String, _ log: IssueLog) throws(DecodingIssue) -> Date {
        try self.required(name, .date, log)
    }

    /// Returns a member that must be present but is only shown: nil with an issue if it cannot be read.
    func reported<Value>(_ name: String, _ form: Form<Value>, _ log: inout IssueLog) -> Value? {
        do throws(DecodingIssue) {
            return try self.required(name, form, log)
        } catch {
            log.report(error)
            return nil
        }
    }

    /// Returns a member that may be absent or `null`, but has no other form.
    package func ifPresent<Value>(_ name: String, _ form: Form<Value>, _ log: IssueLog) throws(DecodingIssue) -> Value?
    {
        switch self.member(name) {
        case .absent: return nil
        case .one(let view) where view.isNull: return nil
        default: return try self.required(name, form, log)
        }
    }

    /// Returns a member that is only shown: nil if absent, nil with an issue if unreadable.
    package func optional<Value>(_ name: String, _ form: Form<Value>, _ log: inout IssueLog) -> Value? {
        do throws(DecodingIssue) {
            return try self.ifPresent(name, form, log)
        } catch {
            log.report(error)
            return nil
        }
    }
}
