import Basics
package import Foundation

/// The dates of the Mobile Token API: ISO 8601 with an offset, such as `2018-07-02T14:43:13+0000`.
package enum ISO8601 {
    /// Parses `YYYY-MM-DDThh:mm:ss`, an optional fraction, and `Z`, `±hhmm` or `±hh:mm`; `nil` for anything else, such as a
    /// missing offset or a nonexistent day.
    package static func date(from string: String) -> Date? {
        var reader = Reader(rest: string.utf8[...])
        guard let year = reader.digits(4), reader.skip("-"), let month = reader.digits(2), reader.skip("-"),
            let day = reader.digits(2), reader.skip("T"), let hour = reader.digits(2), reader.skip(":"),
            let minute = reader.digits(2), reader.skip(":"), let second = reader.digits(2),
            hour < 24, minute < 60, second < 60, let days = Self.daysSince1970(year: year, month: month, day: day)
        else { return nil }
        guard let fraction = reader.fraction(), let offset = reader.offset(), reader.rest.isEmpty else { return nil }
        let seconds = days * 86_400 + hour * 3_600 + minute * 60 + second - offset
        return Date(timeIntervalSince1970: Double(seconds) + fraction)
    }

    /// Returns a date as the phone SDKs write it: whole seconds, UTC, `+0000`.
    package static func string(from date: Date) -> String {
        String(
            decoding: Self.bytes(of: Int(saturating: date.timeIntervalSince1970.rounded(.down))) + "+0000".utf8,
            as: UTF8.self
        )
    }

    /// Returns a date with milliseconds in UTC, such as `2018-07-02T14:43:13.250Z`.
    package static func preciseString(from date: Date) -> String {
        let (seconds, milliseconds) = Int(saturating: (date.timeIntervalSince1970 * 1_000).rounded())
            .flooredDivision(by: 1_000)
        var bytes = Self.bytes(of: seconds)
        bytes.append(UInt8(ascii: "."))
        bytes.append(milliseconds, width: 3)
        bytes.append(UInt8(ascii: "Z"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a day as `yyyy-MM-dd`.
    package static func day(_ year: Int, _ month: Int, _ day: Int) -> String {
        var bytes: [UInt8] = []
        bytes.append(day: (year, month, day))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns `yyyy-MM-ddThh:mm:ss`. Dates outside the years 0000 to 9999 are clamped.
    private static func bytes(of seconds: Int) -> [UInt8] {
        let (days, time) = min(max(seconds, -62_167_219_200), 253_402_300_799).flooredDivision(by: 86_400)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(32)
        bytes.append(day: Self.civilDate(daysSince1970: days))
        for (mark, value) in [("T", time / 3_600), (":", time / 60 % 60), (":", time % 60)] as [(Unicode.Scalar, Int)] {
            bytes.append(UInt8(ascii: mark))
            bytes.append(value, width: 2)
        }
        return bytes
    }

    /// Returns the days from 1970-01-01 to a Gregorian date; `nil` for a nonexistent day.
    package static func daysSince1970(year: Int, month: Int, day: Int) -> Int? {
        guard (1...12).contains(month), day >= 1, day <= Self.days(inMonth: month, of: year) else { return nil }
        // Years starting in March end with their leap day, so months have fixed offsets.
        let marchYear = month > 2 ? year : year - 1
        let (era, yearOfEra) = marchYear.flooredDivision(by: 400)
        let dayOfYear = (153 * ((month + 9) % 12) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civilDate(daysSince1970 days: Int) -> (year: Int, month: Int, day: Int) {
        let (era, dayOfEra) = (days + 719_468).flooredDivision(by: 146_097)
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        return (era * 400 + yearOfEra + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
    }

    private static func days(inMonth month: Int, of year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension ISO8601 {
    private struct Reader {
        var rest: Substring.UTF8View

        mutating func skip(_ character: Unicode.Scalar) -> Bool {
            guard self.rest.first == UInt8(ascii: character) else { return false }
            self.rest.removeFirst()
            return true
        }

        /// Parses exactly `count` digits.
        mutating func digits(_ count: Int) -> Int? {
            var value = 0
            for _ in 0..<count {
                guard let byte = self.rest.popFirst(), byte.isASCIIDigit else { return nil }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return value
        }

        /// Parses the fraction of a second: 0 without a dot, `nil` for a dot without digits.
        mutating func fraction() -> Double? {
            guard self.skip(".") else { return 0 }
            var (value, scale, count) = (0.0, 1.0, 0)
            while let byte = self.rest.first, byte.isASCIIDigit {
                self.rest.removeFirst()
                count += 1
                // A `Date` is not more precise.
                guard count <= 9 else { continue }
                scale *= 10
                value = value * 10 + Double(byte - UInt8(ascii: "0"))
            }
            return count > 0 ? value / scale : nil
        }

        /// Parses the seconds east of UTC.
        mutating func offset() -> Int? {
            if self.skip("Z") { return 0 }
            let sign: Int
            if self.skip("+") { sign = 1 } else if self.skip("-") { sign = -1 } else { return nil }
            guard let hours = self.digits(2) else { return nil }
            _ = self.skip(":")
            guard let minutes = self.digits(2), hours < 24, minutes < 60 else { return nil }
            return sign * (hours * 3_600 + minutes * 60)
        }
    }
}

extension [UInt8] {
    /// Appends a number from 0, with leading zeros. Several times as fast as by strings, which each decision made a dozen times.
    fileprivate mutating func append(_ value: Int, width: Int) {
        var divisor = 1
        for _ in 1..<width { divisor *= 10 }
        while divisor > 0 {
            self.append(UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: value / divisor % 10))
            divisor /= 10
        }
    }

    fileprivate mutating func append(day: (year: Int, month: Int, day: Int)) {
        self.append(day.year, width: 4)
        self.append(UInt8(ascii: "-"))
        self.append(day.month, width: 2)
        self.append(UInt8(ascii: "-"))
        self.append(day.day, width: 2)
    }
}

extension Int {
    fileprivate func flooredDivision(by divisor: Int) -> (quotient: Int, remainder: Int) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
