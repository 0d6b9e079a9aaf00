import Basics
import ExactJSON
import Foundation
import PowerAuthProtocol

/// The form that a JSON value must have, and the Swift value that it then gives.
struct Form<Value> {
    /// The name of the form, to complete "not …".
    let name: String
    let read: (JSONView) -> Value?
}

extension Form where Value == String {
    static var string: Self { Self(name: "a string") { $0.string } }
    /// An identifier; an empty one names nothing.
    static var identifier: Self { Self(name: "an identifier") { $0.string.flatMap { $0.isEmpty ? nil : $0 } } }
}

extension Form where Value == Bool {
    static var flag: Self { Self(name: "a Boolean") { $0.bool } }
}

extension Form where Value == Date {
    static var date: Self { Self(name: "a date with an offset") { $0.string.flatMap { ISO8601.date(from: $0) } } }
}

extension Form where Value == Int {
    /// A whole number that is not negative.
    static var count: Self {
        Self(name: "a whole number") { view in
            view.number?.int64.flatMap { Int(exactly: $0) }.flatMap { $0 < 0 ? nil : $0 }
        }
    }
}

extension Form where Value == JSONView {
    static var object: Self { Self(name: "an object") { $0.isObject ? $0 : nil } }
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

/// An amount with the digits it was sent with.
struct ExactAmount {
    let value: Decimal
    let digits: String
}

extension Form where Value: RawRepresentable, Value.RawValue == String {
    /// One of the strings that an enumeration knows, byte by byte: to `==` the Kelvin sign is a K.
    static var known: Self {
        Self(name: "a known value") { view in
            guard let text = view.string, let value = Value(rawValue: text) else { return nil }
            return value.rawValue.isExactly(text) ? value : nil
        }
    }
}

// MARK: - Members

extension JSONView {
    /// Returns a member that must be there, once, and of this form.
    func required<Value>(_ name: String, _ form: Form<Value>, _ log: IssueLog) throws(DecodingIssue) -> Value {
        switch self.member(name) {
        case .absent: throw log.issue(.missing, member: name)
        case .repeated: throw log.issue(.repeated, member: name, at: self)
        case .one(let view):
            if let value = form.read(view) { return value }
            throw log.issue(view.isNull ? .null : .unreadable(expected: form.name), member: name, at: view)
        }
    }

    /// Returns a member that must be there, but only for what is shown: nil and reported when it is not.
    func reported<Value>(_ name: String, _ form: Form<Value>, _ log: inout IssueLog) -> Value? {
        do throws(DecodingIssue) {
            return try self.required(name, form, log)
        } catch {
            log.report(error)
            return nil
        }
    }

    /// Returns a member that may be absent or `null`, but of no other form.
    func ifPresent<Value>(_ name: String, _ form: Form<Value>, _ log: IssueLog) throws(DecodingIssue) -> Value? {
        switch self.member(name) {
        case .absent: return nil
        case .one(let view) where view.isNull: return nil
        default: return try self.required(name, form, log)
        }
    }

    /// Returns a member that is only shown: nil when it is not there, nil and reported when it cannot be read.
    func optional<Value>(_ name: String, _ form: Form<Value>, _ log: inout IssueLog) -> Value? {
        do throws(DecodingIssue) {
            return try self.ifPresent(name, form, log)
        } catch {
            log.report(error)
            return nil
        }
    }
}
