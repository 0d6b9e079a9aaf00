import Basics

/// A clock read as the time since it was taken up, so that rules count in `Duration` whatever clock drives them.
public struct ServiceClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let sleepUntil: @Sendable (Duration) async throws -> Void

    /// Shared by the services of a fleet, each of which would need memory of its own for it.
    private static let continuous = opened(ContinuousClock())

    /// Wraps a clock.
    public init(_ clock: any Clock<Duration>) {
        self = clock is ContinuousClock ? Self.continuous : Self.opened(clock)
    }

    private init(
        elapsed: @escaping @Sendable () -> Duration,
        sleepUntil: @escaping @Sendable (Duration) async throws -> Void
    ) {
        self.elapsed = elapsed
        self.sleepUntil = sleepUntil
    }

    // Instants of an unknown clock can only be counted with where its type is known.
    private static func opened<C: Clock<Duration>>(_ clock: C) -> Self {
        let start = clock.now
        return Self(
            elapsed: { start.duration(to: clock.now) },
            sleepUntil: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        )
    }

    /// The time since the clock was wrapped.
    public var now: Duration { self.elapsed() }

    /// Sleeps until a deadline, or for a century: clocks trap on instants that are much farther away.
    public func sleep(until deadline: Duration) async throws {
        try await self.sleepUntil(min(deadline, self.now.bounded + .longest))
    }
}
