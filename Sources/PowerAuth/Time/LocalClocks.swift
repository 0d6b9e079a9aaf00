internal import Foundation

/// The two local clocks, as one source of readings.
struct LocalClocks: Sendable {
    private let sinceStart: @Sendable () -> Duration
    private let wall: @Sendable () -> Date

    init(monotonic clock: any Clock<Duration>, wall: @escaping @Sendable () -> Date) {
        self.sinceStart = Self.stopwatch(clock)
        self.wall = wall
    }

    /// Where both clocks stand.
    var reading: TimeSynchronization.Reading { .init(monotonic: self.sinceStart(), wall: self.wall()) }

    /// Time on the monotonic clock since this value was made.
    var monotonic: Duration { self.sinceStart() }

    // Opens the existential once: instants of an unknown clock can only be compared where its type is known.
    private static func stopwatch<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }
}
