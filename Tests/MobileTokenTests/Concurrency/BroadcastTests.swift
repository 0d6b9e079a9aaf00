import MobileToken
import PowerAuth
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(1))) struct BroadcastTests {
    private struct Numbers: SubscriptionBuffer {
        var pending: [Int] = []

        mutating func append(_ number: Int) { self.pending.append(number) }

        mutating func removeFirst() -> Int? { self.pending.isEmpty ? nil : self.pending.removeFirst() }
    }

    /// Runs a job on the spot, inside whatever call made it ready.
    private final class InlineExecutor: TaskExecutor {
        func enqueue(_ job: consuming ExecutorJob) {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }

    @Test func aReaderThatRunsInsideTheSendMayComeBack() async {
        let broadcast = Broadcast(startingWith: Numbers())
        let isReading = Shared(false)
        let reader = Task(executorPreference: InlineExecutor()) {
            let subscription = broadcast.subscribe()
            isReading.value = true
            var seen: [Int] = []
            while seen.count < 3, let number = await subscription.next() {
                seen.append(number)
                _ = broadcast.subscriberCount
                if number == 1 { broadcast.send(2, startingWith: Numbers(pending: [2])) }
            }
            return seen
        }
        await until { isReading.value }
        broadcast.send(1, startingWith: Numbers(pending: [1]))
        broadcast.send(3, startingWith: Numbers(pending: [3]))
        #expect(await reader.value == [1, 2, 3])
    }

    @Test func anEndHasAReasonAndIsNotForEver() async {
        let observed = Shared<[Bool]>([])
        let broadcast = Broadcast(startingWith: Numbers()) { isObserved in observed.update { $0.append(isObserved) } }
        let first = broadcast.subscribe()
        broadcast.send(1, startingWith: Numbers(pending: [1]))
        broadcast.finish(MobileTokenError(.activationRemoved, "over"))
        #expect(observed.value == [true, false])
        #expect(await first.next() == 1)
        #expect(await first.next() == nil)
        let late = broadcast.subscribe()
        #expect(await late.next() == 1)
        #expect(await late.next() == nil)
        #expect(broadcast.endReason?.code == .activationRemoved)

        broadcast.reopen()
        let second = broadcast.subscribe()
        #expect(observed.value == [true, false, true])
        broadcast.send(2, startingWith: Numbers(pending: [2]))
        #expect(await second.next() == 1)
        #expect(await second.next() == 2)
        #expect(await first.next() == nil)
        broadcast.finish()
        #expect(broadcast.endReason?.code == .activationRemoved)
        broadcast.forgetEndReason()
        #expect(broadcast.endReason == nil)
    }

    @Test func aRevisionReachesWhatIsUnreadAndWakesNobody() async {
        let broadcast = Broadcast(startingWith: Numbers())
        let subscription = broadcast.subscribe()
        broadcast.send(1, startingWith: Numbers())
        broadcast.revise(startingWith: Numbers(pending: [9])) { buffer in
            for index in buffer.pending.indices { buffer.pending[index] *= 10 }
        }
        #expect(await subscription.next() == 10)
        #expect(await broadcast.subscribe().next() == 9)
    }
}
