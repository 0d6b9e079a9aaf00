import Basics
package import Foundation

extension Date {
    /// The range of the protocol's timestamps, which have at most fifteen digits.
    private static let representable: ClosedRange<Int64> = 0...999_999_999_999_000

    /// The protocol's timestamp: whole milliseconds since 1970.
    package var millisecondsSince1970: Int64 {
        let milliseconds = Int64(saturating: (self.timeIntervalSince1970 * 1000).rounded(.down))
        return min(max(milliseconds, Self.representable.lowerBound), Self.representable.upperBound)
    }

    /// Creates the date of a protocol timestamp.
    package init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: TimeInterval(milliseconds) / 1000)
    }
}
