import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct SignalTests {
    private let signal = Signal()

    @Test func oneRaiseIsRememberedAndTakenOnce() async {
        self.signal.raise()
        self.signal.raise()
        #expect(await self.signal.wait())
        let second = Task { await self.signal.wait() }
        #expect(await second.stop() == false)
    }

    @Test func aRaiseThatIsLoweredIsForgotten() async {
        let signal = Signal(isRaised: true)
        signal.lower()
        let waiting = Task { await signal.wait() }
        #expect(await waiting.stop() == false)
    }

    @Test func aCanceledWaiterLeavesTheRaiseToTheNext() async {
        let canceled = Task { await self.signal.wait() }
        #expect(await canceled.stop() == false)
        self.signal.raise()
        #expect(await self.signal.wait())
    }

    @Test func eachRaiseWakesOneWaiter() async {
        let woken = Shared(0)
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask {
                    if await self.signal.wait() { woken.update { $0 += 1 } }
                }
            }
            for count in 1...20 {
                self.signal.raise()
                await until { woken.value == count }
            }
        }
        #expect(woken.value == 20)
    }
}
