import Basics
import Foundation

extension Date {
    /// Whole milliseconds since 1970.
    var milliseconds: Int64 { Int64(saturating: (self.timeIntervalSince1970 * 1000).rounded(.down)) }

    init(milliseconds: Int64) { self.init(timeIntervalSince1970: TimeInterval(milliseconds) / 1000) }
}
