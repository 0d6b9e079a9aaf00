import Coordination
import TestClock
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct AlarmsTests {
    private let clock = ManualClock()
    private let alarms: Alarms

    init() {
        self.alarms = .on(self.clock)
    }

    @Test func oneSleepServesAllAlarmsAndEachRingsInItsTime() async {
        let signals = (1...50).map { _ in Signal() }
        for (index, signal) in signals.enumerated() {
            _ = self.alarms.set(signal, at: .seconds(index + 1))
        }
        for signal in signals {
            await self.clock.waitForSleepers(1)
            #expect(self.clock.sleeperCount == 1)
            self.clock.advance(by: .seconds(1))
            #expect(await signal.wait())
        }
        #expect(self.clock.sleeperCount == 0)
        #expect(self.alarms.deadlineCount == 0)
    }

    @Test func anEarlierAlarmHasASleepOfItsOwn() async {
        let (early, late) = (Signal(), Signal())
        _ = self.alarms.set(late, at: .seconds(10))
        #expect(await self.clock.nextSleep() == .seconds(10))
        _ = self.alarms.set(early, at: .seconds(3))
        #expect(await self.clock.nextSleep() == .seconds(3))
        self.clock.advance(by: .seconds(3))
        #expect(await early.wait())
        #expect(self.clock.sleeperCount == 1)
        self.clock.advance(by: .seconds(7))
        #expect(await late.wait())
    }

    @Test func aFarDeadlineCostsNoSleepAtEachAlarm() async {
        let canceled = Shared(0)
        let begun = Shared(0)
        let clock = SpyingClock(
            self.clock,
            onSleep: { begun.update { $0 += 1 } },
            onCancel: { canceled.update { $0 += 1 } }
        )
        let alarms = Alarms.on(clock)
        _ = alarms.set(Signal(), at: .seconds(900))
        await self.clock.waitForSleepers(1)
        for second in 1...100 {
            let signal = Signal()
            _ = alarms.set(signal, at: .seconds(second))
            await self.clock.waitForSleepers(2)
            self.clock.advance(by: .seconds(1))
            #expect(await signal.wait())
        }
        #expect(begun.value == 101)
        #expect(canceled.value == 0)
    }

    @Test func anAlarmOfThePastRingsAtOnce() async {
        self.clock.advance(by: .seconds(5))
        let signal = Signal()
        _ = self.alarms.set(signal, at: .seconds(4))
        #expect(await signal.wait())
    }

    @Test func aCancelledAlarmDoesNotRing() async {
        let (kept, cancelled) = (Signal(), Signal())
        let alarm = self.alarms.set(cancelled, at: .seconds(3))
        #expect(await self.clock.nextSleep() == .seconds(3))
        _ = self.alarms.set(kept, at: .seconds(5))
        self.alarms.cancel(alarm)
        self.alarms.cancel(alarm)
        self.clock.advance(by: .seconds(3))
        #expect(await self.clock.nextSleep() == .seconds(2))
        self.clock.advance(by: .seconds(2))
        #expect(await kept.wait())
        // Had the other one rung, it would have done so before.
        let waiting = Task { await cancelled.wait() }
        #expect(await waiting.stop() == false)
    }

    @Test func withoutAlarmsNobodySleeps() async {
        let alarm = self.alarms.set(Signal(), at: .seconds(3))
        await self.clock.waitForSleepers(1)
        self.alarms.cancel(alarm)
        await until { self.clock.sleeperCount == 0 }
        #expect(self.clock.sleeperCount == 0)
    }

    @Test func cancelledAlarmsDoNotPileUp() {
        _ = self.alarms.set(Signal(), at: .seconds(1))
        for number in 0..<10_000 {
            self.alarms.cancel(self.alarms.set(Signal(), at: .seconds(10 + number)))
            #expect(self.alarms.deadlineCount <= 2 + 16)
        }
    }

    @TaskLocal private static var whose = "nobody's"

    @Test func theSleeperIsNobodysInParticular() async {
        let seen = Shared<(String, TaskPriority)?>(nil)
        let clock = SpyingClock(self.clock, onSleep: { seen.value = (Self.whose, Task.currentPriority) })
        let alarms = Alarms.on(clock)
        await Task(priority: .background) {
            Self.$whose.withValue("mine") { _ = alarms.set(Signal(), at: .seconds(3)) }
        }.value
        await self.clock.waitForSleepers(1)
        #expect(seen.value?.0 == "nobody's")
        #expect(seen.value.map { $0.1 >= .medium } == true)
    }

    @Test func aSleeperIsCanceledOutsideTheLock() async {
        let count = Shared(-1)
        let alarms = Shared<Alarms?>(nil)
        // Canceling runs the clock's code, which may come back.
        let clock = SpyingClock(self.clock, onCancel: { count.value = alarms.value?.deadlineCount ?? -1 })
        alarms.value = Alarms.on(clock)
        let alarm = alarms.value?.set(Signal(), at: .seconds(10))
        await self.clock.waitForSleepers(1)
        if let alarm { alarms.value?.cancel(alarm) }
        await until { count.value >= 0 }
    }
}

/// Tells when somebody sleeps, and when a sleeper is canceled.
private struct SpyingClock: Clock {
    private let clock: ManualClock
    private let onSleep: @Sendable () -> Void
    private let onCancel: @Sendable () -> Void

    init(
        _ clock: ManualClock,
        onSleep: @escaping @Sendable () -> Void = {},
        onCancel: @escaping @Sendable () -> Void = {}
    ) {
        self.clock = clock
        self.onSleep = onSleep
        self.onCancel = onCancel
    }

    var now: ManualClock.Instant { self.clock.now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: ManualClock.Instant, tolerance: Duration?) async throws {
        self.onSleep()
        try await withTaskCancellationHandler {
            try await self.clock.sleep(until: deadline, tolerance: tolerance)
        } onCancel: {
            self.onCancel()
        }
    }
}
