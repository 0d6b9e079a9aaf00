import Basics
package import Foundation

/// A point in time: milliseconds since 1970, as the protocol counts them.
package typealias Milliseconds = Int64

extension Date {
    /// The range of the server's clocks: from 1970, the first date on the wire, to 9999-01-01, the last year with four digits.
    package static let shownByClocks = Date(timeIntervalSince1970: 0)...Date(timeIntervalSince1970: 253_370_764_800)

    package var milliseconds: Milliseconds {
        // A clock set by hand may show any time; the wire is limited to this range.
        self.timeIntervalSince1970.inMilliseconds
    }

    package init(milliseconds: Milliseconds) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

extension Double {
    /// Seconds as milliseconds, limited so that any two can be added.
    package var inMilliseconds: Milliseconds {
        min(max(Milliseconds(saturating: self * 1000), 0), 9_000_000_000_000_000)
    }
}
