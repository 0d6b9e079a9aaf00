import Basics

/// A clock as the time since its creation, so that rules use `Duration` with any clock.
public struct ServiceClock: Sendable {
    private let elapsed: @Sendable () -> Duration
    private let sleepUntil: @Sendable (Duration) async throws -> Void

    /// Shared, because each service of a fleet would need memory for its own.
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

    // Arithmetic with an unknown clock's instants needs its concrete type.
    private static func opened<C: Clock<Duration>>(_ clock: C) -> Self {
        let start = clock.now
        return Self(
            elapsed: { start.duration(to: clock.now) },
            sleepUntil: { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
        )
    }

    /// The time since creation.
    public var now: Duration { self.elapsed() }

    /// Sleeps until a deadline, but at most a century: clocks trap on much later instants.
    public func sleep(until deadline: Duration) async throws {
        try await self.sleepUntil(min(deadline, self.now.bounded + .longest))
    }
}
