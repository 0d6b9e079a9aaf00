import Coordination
import Foundation

/// The two local clocks, as one source of readings.
struct LocalClocks: Sendable {
    private let clock: ServiceClock
    private let wall: @Sendable () -> Date

    init(monotonic clock: any Clock<Duration>, wall: @escaping @Sendable () -> Date) {
        self.clock = ServiceClock(clock)
        self.wall = wall
    }

    /// The present reading of both clocks.
    var reading: TimeSynchronization.Reading { .init(monotonic: self.clock.now, wall: self.wall()) }

    /// The present reading of the monotonic clock.
    var monotonic: Duration { self.clock.now }
}
