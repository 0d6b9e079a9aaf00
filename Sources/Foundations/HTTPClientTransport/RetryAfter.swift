import Basics
package import Foundation
import Synchronization

/// Parses the `Retry-After` header: a number of seconds or an HTTP date.
package enum RetryAfter {
    /// Longer waits are of no use to a polling client.
    package static let longest: Duration = .seconds(24 * 60 * 60)

    /// Returns the wait, at most a day; `nil` if malformed. A past date is zero.
    package static func duration(_ text: String, now: Date) -> Duration? {
        let value = text.drop { $0 == " " }
        if !value.isEmpty, value.utf8.allSatisfy(\.isASCIIDigit) {
            // More digits than fit mean a long time.
            return min(.seconds(Int64(value) ?? Int64.max / 2), Self.longest)
        }
        guard let date = HTTPDate.date(value) else { return nil }
        let seconds = date.timeIntervalSince(now)
        return min(max(Duration(boundedSeconds: seconds), .zero), Self.longest)
    }
}

package enum HTTPDate {
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Parses the form `Sun, 06 Nov 1994 08:49:37 GMT`, the only one that servers may send.
    package static func date(_ text: some StringProtocol) -> Date? {
        let parts = Substring(text).utf8.split(separator: UInt8(ascii: " "))
        guard parts.count == 6, parts[5].elementsEqual("GMT".utf8),
            let month = Self.months.firstIndex(where: { parts[2].elementsEqual($0.utf8) }),
            let day = Self.number(parts[1], 1...31), let year = Self.number(parts[3], 1970...9999)
        else { return nil }
        let time = parts[4].split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        guard time.count == 3, let hour = Self.number(time[0], 0...23), let minute = Self.number(time[1], 0...59),
            let second = Self.number(time[2], 0...60)
        else { return nil }
        var moment = tm()
        (moment.tm_year, moment.tm_mon, moment.tm_mday) = (Int32(year - 1_900), Int32(month), Int32(day))
        (moment.tm_hour, moment.tm_min, moment.tm_sec) = (Int32(hour), Int32(minute), Int32(second))
        return Date(timeIntervalSince1970: TimeInterval(timegm(&moment)))
    }

    /// Returns the date in that form. Each response has one, mostly of the same second as the one before.
    package static func string(from date: Date) -> String {
        let seconds = time_t(min(max(0, date.timeIntervalSince1970), 253_402_300_799))
        return Self.latest.withLock { latest in
            if latest.seconds != seconds { latest = (seconds, Self.string(from: seconds)) }
            return latest.string
        }
    }

    private static let latest = Mutex((seconds: time_t(-1), string: ""))

    private static func string(from seconds: time_t) -> String {
        var (seconds, moment) = (seconds, tm())
        gmtime_r(&seconds, &moment)
        let (weekday, month) = (Self.weekdays[Int(moment.tm_wday)], Self.months[Int(moment.tm_mon)])
        let numbers = [moment.tm_mday, moment.tm_year + 1_900, moment.tm_hour, moment.tm_min, moment.tm_sec]
        return String(format: "\(weekday), %02d \(month) %d %02d:%02d:%02d GMT", arguments: numbers)
    }

    private static func number(_ text: some Collection<UInt8>, _ range: ClosedRange<Int>) -> Int? {
        Int(asciiDigits: text).flatMap { range.contains($0) ? $0 : nil }
    }
}
