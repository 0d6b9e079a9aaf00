import Coordination
import Testing

@Suite struct DeadlineQueueTests {
    private var queue = DeadlineQueue<Int, String, Int>()

    private mutating func takeAll(dueAt time: Int) -> [String] {
        var taken: [String] = []
        while let (key, _) = self.queue.removeFirst(dueAt: time) { taken.append(key) }
        return taken
    }

    @Test mutating func valuesComeOutByTimeAndThenInOrderOfInsertion() {
        let times = ["a": 3, "b": 1, "c": 2, "d": 1]
        for key in ["a", "b", "c", "d"] { self.queue.insert(0, for: key, at: times[key, default: 0]) }
        #expect(self.queue.earliest() == 1)
        #expect(self.takeAll(dueAt: 0).isEmpty)
        #expect(self.takeAll(dueAt: 2) == ["b", "d", "c"])
        #expect(self.queue.earliest() == 3)
        #expect(self.takeAll(dueAt: 3) == ["a"])
        #expect(self.queue.isEmpty && self.queue.earliest() == nil)
    }

    @Test mutating func anotherDeadlineReplacesTheFirst() {
        self.queue.insert(1, for: "a", at: 1)
        self.queue.insert(2, for: "a", at: 5)
        #expect(self.queue.count == 1)
        #expect(self.queue.earliest() == 5)
        self.queue.insert(3, for: "a", at: 2)
        #expect(self.queue.removeFirst(dueAt: 2)?.value == 3)
        #expect(self.queue.removeFirst(dueAt: 9) == nil)
    }

    @Test mutating func aChangedValueKeepsItsDeadline() {
        self.queue.insert(1, for: "a", at: 1)
        #expect(self.queue.update("a") { $0 += 10 })
        #expect(!self.queue.update("b") { $0 += 10 })
        #expect(self.queue["a"] == 11 && self.queue["b"] == nil)
        #expect(self.queue.removeFirst(dueAt: 1)?.value == 11)
    }

    @Test mutating func aRemovedValueDoesNotComeOut() {
        for time in 1...3 { self.queue.insert(time, for: "\(time)", at: time) }
        #expect(self.queue.remove("1") == 1)
        #expect(self.queue.remove("1") == nil)
        #expect(self.queue.earliest() == 2)
        #expect(self.takeAll(dueAt: 9) == ["2", "3"])
    }

    @Test mutating func deadlinesThatNoLongerCountDoNotPileUp() {
        self.queue.insert(0, for: "kept", at: 1_000_000)
        for time in 0..<10_000 {
            self.queue.insert(time, for: "a", at: time)
            if time.isMultiple(of: 3) { self.queue.remove("a") }
            #expect(self.queue.deadlineCount <= 2 * self.queue.count + 16)
        }
        #expect(self.queue["kept"] == 0)
    }

    /// Against a model that searches.
    @Test mutating func whatIsDueIsWhatASearchFinds() {
        var generator = SystemRandomNumberGenerator()
        var model: [String: Int] = [:]
        for _ in 0..<2_000 {
            let key = String(UInt8.random(in: 0..<40, using: &generator))
            switch Int.random(in: 0..<4, using: &generator) {
            case 0:
                self.queue.remove(key)
                model[key] = nil
            case 1:
                let time = Int.random(in: 0..<100, using: &generator)
                let due = model.filter { $0.value <= time }
                let taken = self.takeAll(dueAt: time)
                #expect(Set(taken) == Set(due.keys) && taken.count == due.count)
                #expect(taken.map { due[$0, default: 0] } == due.values.sorted())
                for key in taken { model[key] = nil }
            default:
                let time = Int.random(in: 0..<100, using: &generator)
                self.queue.insert(time, for: key, at: time)
                model[key] = time
            }
            #expect(self.queue.count == model.count)
            #expect(self.queue.earliest() == model.values.min())
        }
    }
}

/// A queue of keys alone: what falls due when.
@Suite struct DueKeysTests {
    private var queue = DeadlineQueue<Duration, String, Void>()

    @Test mutating func whatIsDueFirstIsTakenFirst() {
        self.queue.insert((), for: "late", at: .seconds(3))
        self.queue.insert((), for: "early", at: .seconds(1))
        #expect(self.queue.earliest() == .seconds(1))
        #expect(self.queue.removeFirst(dueAt: .milliseconds(999))?.key == nil)
        #expect(self.queue.removeFirst(dueAt: .seconds(5))?.key == "early")
        #expect(self.queue.removeFirst(dueAt: .seconds(5))?.key == "late")
        #expect(self.queue.removeFirst(dueAt: .seconds(5))?.key == nil)
    }

    @Test mutating func anotherTimeReplacesTheFirst() {
        self.queue.insert((), for: "a", at: .seconds(1))
        self.queue.insert((), for: "a", at: .seconds(9))
        self.queue.insert((), for: "b", at: .seconds(5))
        #expect(self.queue.earliest() == .seconds(5))
        self.queue.remove("b")
        #expect(self.queue.earliest() == .seconds(9))
        #expect(self.queue.count == 1)
        self.queue.insert((), for: "a", at: .seconds(2))
        #expect(self.queue.removeFirst(dueAt: .seconds(2))?.key == "a")
        #expect(self.queue.removeFirst(dueAt: .seconds(9))?.key == nil)
    }

    @Test mutating func changingTimesDoesNotMakeItGrow() {
        for round in 0..<1000 { for id in ["a", "b"] { self.queue.insert((), for: id, at: .seconds(1000 - round)) } }
        #expect(self.queue.deadlineCount <= 128)
    }
}
