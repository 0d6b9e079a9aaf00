import Testing

@testable import HTTPClientTransport

@Suite struct TransferQueueTests {
    private func startable(_ queue: inout TransferQueue<String>) -> [String] {
        var result: [String] = []
        while let element = queue.next() { result.append(element) }
        return result
    }

    @Test func oneHostKeepsToItsLimitAndItsOrder() {
        var queue = TransferQueue<String>(limitPerHost: 2, limitInTotal: 10)
        for name in ["a1", "a2", "a3", "a4"] { queue.append(name, host: "a") }
        #expect(self.startable(&queue) == ["a1", "a2"])
        #expect(queue.running == 2 && queue.waiting == 2)
        queue.finish(host: "a")
        #expect(self.startable(&queue) == ["a3"])
        queue.finish(host: "a")
        queue.finish(host: "a")
        #expect(self.startable(&queue) == ["a4"])
        queue.finish(host: "a")
        #expect(queue.running == 0 && queue.waiting == 0)
    }

    @Test func aFullHostDoesNotHoldUpAnother() {
        var queue = TransferQueue<String>(limitPerHost: 1, limitInTotal: 10)
        for name in ["a1", "a2", "a3"] { queue.append(name, host: "a") }
        for name in ["b1", "b2"] { queue.append(name, host: "b") }
        #expect(self.startable(&queue) == ["a1", "b1"])
        queue.finish(host: "b")
        #expect(self.startable(&queue) == ["b2"])
    }

    @Test func hostsTakeTurnsForTheLimitInTotal() {
        var queue = TransferQueue<String>(limitPerHost: 10, limitInTotal: 2)
        for name in ["a1", "a2", "a3", "a4"] { queue.append(name, host: "a") }
        for name in ["b1", "b2"] { queue.append(name, host: "b") }
        #expect(self.startable(&queue) == ["a1", "b1"])
        queue.finish(host: "a")
        #expect(self.startable(&queue) == ["a2"])
        queue.finish(host: "a")
        #expect(self.startable(&queue) == ["b2"])
        queue.finish(host: "b")
        queue.finish(host: "b")
        #expect(self.startable(&queue) == ["a3", "a4"])
    }

    @Test func removingWhatWaitsLeavesTheRestInOrder() {
        var queue = TransferQueue<String>(limitPerHost: 1, limitInTotal: 10)
        for name in ["a1", "a2", "a3"] { queue.append(name, host: "a") }
        for name in ["b1", "b2"] { queue.append(name, host: "b") }
        #expect(self.startable(&queue) == ["a1", "b1"])
        queue.removeWaiting { $0 == "a2" || $0 == "b2" }
        #expect(queue.waiting == 1)
        queue.finish(host: "a")
        queue.finish(host: "b")
        #expect(self.startable(&queue) == ["a3"])
        queue.append("b3", host: "b")
        #expect(self.startable(&queue) == ["b3"])
    }

    @Test func finishingMoreThanRanChangesNothing() {
        var queue = TransferQueue<String>(limitPerHost: 1, limitInTotal: 1)
        queue.finish(host: "a")
        #expect(queue.running == 0)
    }
}
