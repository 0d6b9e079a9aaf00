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

    /// Where both clocks stand.
    var reading: TimeSynchronization.Reading { .init(monotonic: self.clock.now, wall: self.wall()) }

    /// Where the monotonic clock stands.
    var monotonic: Duration { self.clock.now }
}
