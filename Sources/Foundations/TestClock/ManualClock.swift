import Coordination
import Synchronization

/// A clock that only tests move.
///
/// ``nextSleep()`` and ``waitForSleepers(_:)`` wait until the code under test is asleep, so tests never guess, yield or sleep:
///
/// ```swift
/// let clock = ManualClock()
/// async let polling: Void = service.poll(every: .seconds(7))
/// #expect(await clock.nextSleep() == .seconds(7))
/// clock.advance(by: .seconds(7))
/// ```
///
/// Thousands of sleepers are fine: starting, canceling and waking one takes logarithmic time.
public final class ManualClock: Clock, Sendable {
    /// A point in test time.
    public struct Instant: InstantProtocol {
        fileprivate var offset = Duration.zero
        /// The instant `duration` later.
        public func advanced(by duration: Duration) -> Self { Self(offset: self.offset + duration) }
        /// The time from here to `other`.
        public func duration(to other: Self) -> Duration { other.offset - self.offset }
        /// Orders earlier instants first.
        public static func < (lhs: Self, rhs: Self) -> Bool { lhs.offset < rhs.offset }
    }

    /// A task that waits for sleeps to begin.
    private struct Observer {
        let waiter: Waiter<Duration?>
        /// The number of sleepers to wait for; `nil` for the next sleep.
        let count: Int?
    }

    /// An observer to resume, with its result.
    private typealias Satisfied = (Waiter<Duration?>, Duration?)

    private struct State {
        var now = Instant()
        var sleepers = DeadlineQueue<Instant, UInt64, Waiter<Void>>()
        /// The lengths of sleeps that no ``nextSleep()`` has taken yet.
        var begun: [Duration] = []
        /// The observers, oldest first.
        var observers: [Observer] = []

        /// Removes and returns the observers to resume, oldest first.
        mutating func satisfiedObservers() -> [Satisfied] {
            var satisfied: [Satisfied] = []
            self.observers.removeAll { observer in
                if let count = observer.count {
                    guard self.sleepers.count >= count else { return false }
                    satisfied.append((observer.waiter, nil))
                } else {
                    guard !self.begun.isEmpty else { return false }
                    satisfied.append((observer.waiter, self.begun.removeFirst()))
                }
                return true
            }
            return satisfied
        }
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    public init() {}

    /// The current test time.
    public var now: Instant { self.state.withLock { $0.now } }

    /// Zero: deadlines are exact.
    public var minimumResolution: Duration { .zero }

    /// The number of sleeping tasks.
    public var sleeperCount: Int { self.state.withLock { $0.sleepers.count } }

    /// The time to the earliest deadline; `nil` without sleepers.
    public var timeToNextDeadline: Duration? {
        self.state.withLock { state in
            state.sleepers.earliest().map { state.now.duration(to: $0) }
        }
    }

    /// Suspends until ``advance(by:)`` reaches `deadline`.
    ///
    /// - Throws: `CancellationError` if the task is canceled before.
    public func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        var satisfied: [Satisfied] = []
        try await self.state.wait { state, waiter in
            guard state.now < deadline else { return .success(()) }
            state.sleepers.insert(waiter, for: waiter.id, at: deadline)
            state.begun.append(state.now.duration(to: deadline))
            satisfied = state.satisfiedObservers()
            return nil
        } entered: {
            for (waiter, duration) in satisfied { waiter.resume(with: .success(duration)) }
        } leave: { state, id in
            state.sleepers.remove(id)
        }
    }

    /// Returns the length of the next sleep, once for each, in the order of their starts. Waits for one if necessary; `nil` if
    /// the calling task is canceled.
    public func nextSleep() async -> Duration? {
        await self.observe(count: nil)
    }

    /// Waits until at least `count` tasks sleep or the calling task is canceled.
    public func waitForSleepers(_ count: Int) async {
        _ = await self.observe(count: count)
    }

    private func observe(count: Int?) async -> Duration? {
        var satisfied: [Satisfied] = []
        let duration = try? await self.state.wait { state, waiter in
            state.observers.append(Observer(waiter: waiter, count: count))
            satisfied = state.satisfiedObservers()
            return nil
        } entered: {
            for (waiter, duration) in satisfied { waiter.resume(with: .success(duration)) }
        } leave: { state, id in
            state.observers.firstIndex { $0.waiter.id == id }.map { state.observers.remove(at: $0).waiter }
        }
        return duration ?? nil
    }

    /// Moves time forward and wakes the sleepers with passed deadlines, earliest first.
    public func advance(by duration: Duration) {
        let due = self.state.withLock { state in
            state.now = state.now.advanced(by: duration)
            var due: [Waiter<Void>] = []
            while let (_, sleeper) = state.sleepers.removeFirst(dueAt: state.now) { due.append(sleeper) }
            return due
        }
        for sleeper in due { sleeper.resume() }
    }

    /// Moves time to the earliest deadline and wakes its sleepers. Does nothing without sleepers.
    public func advanceToNextDeadline() {
        if let duration = self.timeToNextDeadline { self.advance(by: duration) }
    }

    /// Moves time to the earliest deadline whenever a task sleeps, until the calling task is canceled.
    ///
    /// For tests that await an effect, however many sleeps it takes:
    ///
    /// ```swift
    /// async let _ = clock.runFreely()
    /// #expect(await changes.next() != nil)
    /// ```
    public func runFreely() async {
        while !Task.isCancelled {
            await self.waitForSleepers(1)
            if !Task.isCancelled { self.advanceToNextDeadline() }
            await Task.yield()
        }
    }
}
