import Coordination
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(5))) struct BroadcastTests {
    private enum EndReason: Error { case removed }

    private struct Numbers: SubscriptionBuffer {
        typealias EndReason = BroadcastTests.EndReason

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
        broadcast.finish(.removed)
        #expect(observed.value == [true, false])
        #expect(await first.next() == 1)
        #expect(await first.next() == nil)
        let late = broadcast.subscribe()
        #expect(await late.next() == 1)
        #expect(await late.next() == nil)
        #expect(broadcast.endReason == .removed)

        broadcast.reopen()
        let second = broadcast.subscribe()
        #expect(observed.value == [true, false, true])
        broadcast.send(2, startingWith: Numbers(pending: [2]))
        #expect(await second.next() == 1)
        #expect(await second.next() == 2)
        #expect(await first.next() == nil)
        broadcast.finish()
        #expect(broadcast.endReason == .removed)
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

    /// Keeps two numbers.
    private struct Pair: SubscriptionBuffer {
        var pending: [Int] = []
        var hasOverflowed = false

        mutating func append(_ number: Int) {
            if self.pending.count < 2 { self.pending.append(number) } else { self.hasOverflowed = true }
        }

        mutating func removeFirst() -> Int? { self.pending.isEmpty ? nil : self.pending.removeFirst() }
    }

    @Test func aSubscriptionWithoutRoomEndsAfterWhatItKept() async {
        let broadcast = Broadcast(startingWith: Pair())
        let (slow, quick) = (broadcast.subscribe(), broadcast.subscribe())
        for number in 1...3 {
            broadcast.send(number, startingWith: Pair())
            #expect(await quick.next() == number)
        }
        #expect(await slow.next() == 1)
        #expect(await slow.next() == 2)
        #expect(await slow.next() == nil)
        broadcast.send(4, startingWith: Pair())
        #expect(await slow.next() == nil)
        #expect(await quick.next() == 4)
    }

    @Test func aSubscriberBeyondTheLimitIsTurnedAway() async {
        let broadcast = Broadcast(startingWith: Numbers())
        var first = broadcast.subscribe(unlessThereAre: 1)
        #expect(first != nil)
        #expect(broadcast.subscribe(unlessThereAre: 1) == nil)
        first = nil
        #expect(broadcast.subscriberCount == 0)
        #expect(broadcast.subscribe(unlessThereAre: 1) != nil)
        broadcast.finish()
        #expect(await broadcast.subscribe(unlessThereAre: 1)?.next() == nil)
    }

    /// Numbers, or the even ones alone. Counts how often a reader looks for one.
    private struct Sieve: SubscriptionBuffer {
        let looks: Shared<Int>
        var isOfEvens = false
        var pending: [Int] = []

        func accepts(_ number: Int) -> Bool { !self.isOfEvens || number.isMultiple(of: 2) }

        mutating func append(_ number: Int) { self.pending.append(number) }

        mutating func removeFirst() -> Int? {
            self.looks.update { $0 += 1 }
            return self.pending.isEmpty ? nil : self.pending.removeFirst()
        }
    }

    @Test func whatASubscriberDoesNotAcceptDoesNotWakeIt() async {
        let looks = Shared(0)
        let broadcast = Broadcast(startingWith: Sieve(looks: looks))
        let all = broadcast.subscribe()
        let reader = Task(executorPreference: InlineExecutor()) {
            await broadcast.subscribe { Sieve(looks: $0.looks, isOfEvens: true) }.next()
        }
        await until { looks.value == 1 }
        broadcast.send(1)
        #expect(looks.value == 1)
        broadcast.send(2)
        #expect(await reader.value == 2)
        #expect(await all.next() == 1)
    }
}
