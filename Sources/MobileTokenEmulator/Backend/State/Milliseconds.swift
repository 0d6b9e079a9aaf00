internal import Foundation

/// A point in time: milliseconds since 1970, as the protocol counts them.
typealias Milliseconds = Int64

extension Date {
    var milliseconds: Milliseconds {
        // A clock set by hand may stand anywhere; the wire has no more than this.
        Milliseconds(min(max(self.timeIntervalSince1970 * 1000, 0), 9e15).rounded(.down))
    }

    init(milliseconds: Milliseconds) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }
}

extension Double {
    /// Seconds as milliseconds.
    var inMilliseconds: Milliseconds { Milliseconds(min(max(self * 1000, 0), 9e15)) }
}
