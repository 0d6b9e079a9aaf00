package import Foundation

/// The period over which a limit counts.
package enum LimitWindow: Sendable, Hashable {
    /// The last minutes.
    case rolling(minutes: Int64)
    /// The calendar day of a time zone, which may have 23 or 25 hours.
    case day(in: TimeZone)

    /// The length of the longest window, in minutes: 31 days.
    package static let longest: Int64 = 31 * 24 * 60

    /// Returns the first minute that counts at a date. A minute counts until all of it has left the window.
    package func first(at date: Date) -> Int64 {
        switch self {
        case .rolling(let minutes): return date.minute - minutes
        case .day(let zone):
            var calendar = Calendar(identifier: .gregorian)
            calendar.timeZone = zone
            return calendar.startOfDay(for: date).minute
        }
    }
}

extension Date {
    /// The number of whole minutes since 1970, not before.
    package var minute: Int64 {
        let minute = (self.timeIntervalSince1970 / 60).rounded(.down)
        // A date beyond the digits of a stored charge is none of a real decision.
        return Int64(exactly: min(max(minute, 0), 99_999_999_999)) ?? 0
    }
}
