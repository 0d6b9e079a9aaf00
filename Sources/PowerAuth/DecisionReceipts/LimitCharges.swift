import Basics
package import Foundation
import PowerAuthCrypto

/// A decision's share of a limit, before the time of its signature is known.
package struct LimitDemand: Sendable, Hashable {
    /// The number of units of one: of a decision, or of a currency.
    package static let scale: Int64 = 10_000

    /// The limit's name.
    package let limit: String
    /// The limit's key, the same for all limits of one scope and unit, so that a limit which is renamed, or has another window or
    /// number, counts what was charged before.
    package let key: String
    /// The currency of the amounts; `nil` if decisions are counted.
    package let currency: String?
    /// The units to charge, and those that the window allows.
    package let amount: Int64
    package let allowed: Int64
    package let window: LimitWindow
    /// Indicates whether decisions by people count.
    package let includesPeople: Bool

    package init(
        limit: String,
        key: String,
        currency: String?,
        amount: Int64,
        allowed: Int64,
        window: LimitWindow,
        includesPeople: Bool
    ) {
        self.limit = limit
        self.key = key
        self.currency = currency
        self.amount = amount
        self.allowed = allowed
        self.window = window
        self.includesPeople = includesPeople
    }

    /// Returns units as a number, without a division: that of decimal numbers took 7 % of a charged approval's processor time.
    package static func number(ofUnits units: Int64) -> Decimal {
        var (significand, exponent) = (units, -4)
        while exponent < 0, significand.isMultiple(of: 10) {
            (significand, exponent) = (significand / 10, exponent + 1)
        }
        return Decimal(
            sign: significand < 0 ? .minus : .plus,
            exponent: exponent,
            significand: Decimal(significand.magnitude)
        )
    }

    /// Returns the key of a scope's value and a currency: a digest, because the store shows it, and an account number is personal.
    package static func key(of scope: String, _ value: [UInt8], currency: String?) -> String {
        let parts = [Array(scope.utf8), Array((currency ?? "").utf8), value]
        return Hexadecimal.encode(Array(SHA256.hash(Array(parts.joined(separator: [0]))).prefix(16)))
    }
}

/// The charges of one decision at the time of its signature, and the conditions for them.
package struct LimitCharges: Sendable, Hashable {
    /// The maximum number of limits of a decision, which the stored form relies on.
    package static let maximumCount = 16

    /// The condition that a window holds no more than its limit allows, with this decision.
    package struct Check: Sendable, Hashable {
        package let demand: LimitDemand
        /// The first minute of the window.
        package let first: Int64
    }

    /// An addition to a key's use. Uses of agents and of people are kept apart, because some limits count only the first.
    package struct Entry: Sendable, Hashable {
        package let key: String
        package let minute: Int64
        package let agents: Int64
        package let people: Int64

        /// Adds the charges of another decision to the same key in the same minute.
        package func adding(_ other: Self) -> Self {
            let (agents, people) = (
                self.agents.addingSaturated(other.agents), self.people.addingSaturated(other.people)
            )
            return Self(key: self.key, minute: self.minute, agents: agents, people: people)
        }
    }

    /// The minute of the signature.
    package let minute: Int64
    package let checks: [Check]
    /// One for each key, in their order.
    package let entries: [Entry]

    /// - Parameter isAutomatic: `false` for a decision by hand.
    package init(_ demands: [LimitDemand], at date: Date, isAutomatic: Bool) {
        self.minute = date.minute
        self.checks = demands.map { Check(demand: $0, first: $0.window.first(at: date)) }
        let amounts = Dictionary(demands.map { ($0.key, $0.amount) }, uniquingKeysWith: max)
        self.entries = amounts.sorted { $0.key < $1.key }.map { key, amount in
            let (agents, people) = isAutomatic ? (amount, 0) : (0, amount)
            return Entry(key: key, minute: date.minute, agents: agents, people: people)
        }
    }
}

extension LimitCharges {
    /// Returns the first limit that the charges would pass.
    ///
    /// - Parameters:
    ///   - used: The content of each check's window.
    ///   - closure: The minute of the latest restore.
    package func limit(passedAt used: [Int64], _ closure: Int64?) -> String? {
        zip(self.checks, used).first { check, used in
            let (sum, isTooMuch) = used.addingReportingOverflow(check.demand.amount)
            return isTooMuch || sum > check.demand.allowed || closure.map { $0 >= check.first } ?? false
        }?.0.demand.limit
    }
}

// MARK: - The stored form

extension LimitCharges {
    /// The entries in digits of fixed widths, which a database reads without functions of its own: key, minute, agents, people.
    package var stored: String {
        var bytes: [UInt8] = []
        for entry in self.entries {
            bytes += entry.key.utf8
            for (number, width) in [(entry.minute, 12), (entry.agents, 19), (entry.people, 19)] {
                let digits = String(max(0, number)).utf8
                bytes += repeatElement(UInt8(ascii: "0"), count: max(0, width - digits.count))
                bytes += digits
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    package static let width = 82

    /// Returns SQL, for both databases, that reads the columns `key`, `minute`, `agents` and `people` of an entry.
    ///
    /// - Parameters:
    ///   - text: The stored form as SQL.
    ///   - number: The entry's number, from 0, as SQL.
    package static func columns(of text: String, _ number: String) -> String {
        func part(_ start: Int, _ width: Int) -> String {
            "substr(\(text), \(number) * \(Self.width) + \(start + 1), \(width))"
        }
        return """
            \(part(0, 32)) AS key, CAST(\(part(32, 12)) AS bigint) AS minute, CAST(\(part(44, 19)) AS bigint) AS agents,
                CAST(\(part(63, 19)) AS bigint) AS people
            """
    }

    /// Reads the stored form; an entry that cannot be read is left out.
    package static func entries(stored text: String) -> [Entry] {
        let bytes = Array(text.utf8)
        return stride(from: 0, through: bytes.count - self.width, by: self.width).compactMap { start in
            func part(_ from: Int, _ to: Int) -> String {
                String(decoding: bytes[start + from..<start + to], as: UTF8.self)
            }
            guard let minute = Int64(part(32, 44)), let agents = Int64(part(44, 63)), let people = Int64(part(63, 82))
            else {
                return nil
            }
            return Entry(key: part(0, 32), minute: minute, agents: agents, people: people)
        }
    }
}
