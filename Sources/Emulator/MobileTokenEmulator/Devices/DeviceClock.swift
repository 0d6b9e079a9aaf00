import Basics
import Foundation

/// The server's time as the clock of its virtual devices.
///
/// A device's two clocks always agree, so that moving the time in a test causes no new time request.
struct DeviceClock: Clock {
    struct Instant: InstantProtocol {
        /// The time since 1970.
        fileprivate let time: Duration

        func advanced(by duration: Duration) -> Self { Self(time: self.time + duration) }
        func duration(to other: Self) -> Duration { other.time - self.time }
        static func < (one: Self, other: Self) -> Bool { one.time < other.time }
    }

    let date: @Sendable () -> Date
    /// The clock of delays, in the machine's time.
    let base: any Clock<Duration>

    var now: Instant { Instant(time: Duration(boundedSeconds: self.date().timeIntervalSince1970)) }
    var minimumResolution: Duration { .milliseconds(1) }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        try await self.base.sleep(for: self.now.duration(to: deadline))
    }
}
