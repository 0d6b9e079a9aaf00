import MobileTokenTesting
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct ManualClockTests {
    @Test func manySleepersWakeWhenTheirTimeComes() async {
        let clock = ManualClock()
        let woken = Counter()
        await withTaskGroup { group in
            for second in 1...1_000 {
                group.addTask {
                    try? await clock.sleep(for: .seconds(second))
                    woken.increment()
                }
            }
            await clock.waitForSleepers(1_000)
            clock.advance(by: .seconds(400))
            #expect(clock.sleeperCount == 600)
            #expect(clock.timeToNextDeadline == .seconds(1))
            clock.advance(by: .seconds(600))
        }
        #expect(woken.value == 1_000)
        #expect(clock.timeToNextDeadline == nil)
    }

    @Test func sleepsAreReportedOnceInTheOrderTheyBegan() async {
        let clock = ManualClock()
        await withTaskGroup { group in
            for second in [3, 1, 2] {
                group.addTask { try? await clock.sleep(for: .seconds(second)) }
                #expect(await clock.nextSleep() == .seconds(second))
            }
            clock.advanceToNextDeadline()
            #expect(clock.sleeperCount == 2)
            group.cancelAll()
        }
        #expect(clock.sleeperCount == 0)
    }

    @Test func cancellationEndsSleepersAndObservers() async {
        let clock = ManualClock()
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers(1)
        await #expect(throws: CancellationError.self) { try await sleeper.stop() }
        _ = await clock.nextSleep()

        let observer = Task { await clock.nextSleep() }
        #expect(await observer.stop() == nil)
    }
}
