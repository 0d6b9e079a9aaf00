import Coordination
import Testing

@Suite struct TurnQueueTests {
    @Test func theFirstComerProceedsAndOthersWait() {
        var queue = TurnQueue<String>()
        #expect(queue.enter() == true)
        #expect(queue.enter() == false)
    }

    @Test func waitersComeOutInOrderOfArrival() {
        var queue = TurnQueue<String>()
        _ = queue.enter()
        for (number, name) in ["a", "b", "c"].enumerated() { queue.wait(name, as: UInt64(number)) }
        #expect(queue.leave() == "a")
        #expect(queue.leave() == "b")
        #expect(queue.leave() == "c")
        #expect(queue.leave() == nil)
    }

    @Test func theTurnIsNeverFreeWhileItPassesOn() {
        var queue = TurnQueue<String>()
        _ = queue.enter()
        queue.wait("a", as: 1)
        #expect(queue.leave() == "a")
        #expect(queue.enter() == false)
    }

    @Test func aWaiterThatWithdrewIsPassedOver() {
        var queue = TurnQueue<String>()
        _ = queue.enter()
        queue.wait("a", as: 1)
        queue.wait("b", as: 2)
        #expect(queue.withdraw(1) == "a")
        #expect(queue.waitingCount == 1)
        #expect(queue.leave() == "b")
        #expect(queue.leave() == nil)
        #expect(!queue.isBusy)
    }

    @Test func whoHasItsTurnCannotWithdraw() {
        var queue = TurnQueue<String>()
        _ = queue.enter()
        queue.wait("a", as: 1)
        #expect(queue.leave() == "a")
        #expect(queue.withdraw(1) == nil)
        #expect(queue.isBusy)
    }

    @Test func theQueueIsFreeWhenAllWaitersWithdrew() {
        var queue = TurnQueue<String>()
        _ = queue.enter()
        queue.wait("a", as: 1)
        _ = queue.withdraw(1)
        #expect(queue.leave() == nil)
        #expect(queue.enter() == true)
    }

    @Test func aWideQueueLetsSoManyIn() {
        var queue = TurnQueue<String>(width: 2)
        #expect(queue.enter() == true)
        #expect(queue.enter() == true)
        #expect(queue.enter() == false)
        queue.wait("a", as: 1)
        #expect(queue.leave() == "a")
        #expect(queue.enter() == false)
        #expect(queue.leave() == nil)
        #expect(queue.isBusy)
        #expect(queue.enter() == true)
    }
}
