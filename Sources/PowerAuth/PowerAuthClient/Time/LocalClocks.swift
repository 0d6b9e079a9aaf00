import Coordination
import Foundation

/// The monotonic and the wall clock, read together.
struct LocalClocks: Sendable {
    private let clock: ServiceClock
    private let wall: @Sendable () -> Date

    init(monotonic clock: any Clock<Duration>, wall: @escaping @Sendable () -> Date) {
        self.clock = ServiceClock(clock)
        self.wall = wall
    }

    var reading: TimeSynchronization.Reading { .init(monotonic: self.clock.now, wall: self.wall()) }

    var monotonic: Duration { self.clock.now }
}
