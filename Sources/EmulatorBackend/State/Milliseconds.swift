import Basics
package import Foundation

/// A point in time: milliseconds since 1970, as the protocol counts them.
package typealias Milliseconds = Int64

extension Date {
    /// The dates that a clock of the server can show: the years that are written with four digits, and a little less.
    package static let shownByClocks = Date.distantPast...Date(timeIntervalSince1970: 253_370_764_800)  // 9999-01-01

    package var milliseconds: Milliseconds {
        // A clock set by hand may stand anywhere; the wire has no more than this.
        self.timeIntervalSince1970.inMilliseconds
    }

    package init(milliseconds: Milliseconds) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

extension Double {
    /// Seconds as milliseconds, within the range in which any two can be added.
    package var inMilliseconds: Milliseconds {
        min(max(Milliseconds(saturating: self * 1000), 0), 9_000_000_000_000_000)
    }
}
