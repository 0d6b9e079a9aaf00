internal import Basics
internal import Foundation

/// A point in time: milliseconds since 1970, as the protocol counts them.
typealias Milliseconds = Int64

extension Date {
    var milliseconds: Milliseconds {
        // A clock set by hand may stand anywhere; the wire has no more than this.
        self.timeIntervalSince1970.inMilliseconds
    }

    init(milliseconds: Milliseconds) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

extension Double {
    /// Seconds as milliseconds, within the range in which any two can be added.
    var inMilliseconds: Milliseconds { min(max(Milliseconds(saturating: self * 1000), 0), 9_000_000_000_000_000) }
}
