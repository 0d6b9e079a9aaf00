import Basics
import Testing

@Suite struct FIFOTests {
    @Test func theQueueIsFirstInFirstOutThroughManyRounds() {
        var queue = FIFO<Int>()
        var (next, expected) = (0, 0)
        for round in 0..<200 {
            for _ in 0..<round % 7 {
                queue.append(next)
                next += 1
            }
            for _ in 0..<round % 5 {
                let first = queue.first
                guard let element = queue.popFirst() else { break }
                #expect(element == expected && element == first)
                expected += 1
            }
            #expect(queue.count == next - expected)
        }
        queue.removeAll { $0 % 2 == 0 }
        while let element = queue.popFirst() { #expect(element % 2 == 1) }
        #expect(queue.isEmpty && queue.first == nil)
    }
}
