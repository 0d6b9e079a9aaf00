/// A clock read as the time since it was taken up, so that rules count in `Duration` whatever clock drives them.
package struct ServiceClock: Sendable {
    /// The clock of services that are given no other.
    package static let continuous = ServiceClock(.continuous)

    private let elapsed: @Sendable () -> Duration
    private let sleepUntil: @Sendable (Duration) async throws -> Void

    package init(_ clock: some Clock<Duration>) {
        let start = clock.now
        self.elapsed = { start.duration(to: clock.now) }
        self.sleepUntil = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }

    package var now: Duration { self.elapsed() }

    package func sleep(until deadline: Duration) async throws {
        try await self.sleepUntil(deadline)
    }
}
