import Testing

@testable import MobileTokenEmulator

/// The entries that a server keeps of what has passed.
@Suite struct RecentLogTests {
    private final class Thing: Sendable {}

    @Test(arguments: [(1, 1), (10, 1), (1, 10)])
    func whatNoLongerFitsIsLetGo(sizeOfOthers: Int, size: Int) {
        var log = RecentLog<Thing>(capacity: 10, totalCapacity: 10)
        weak var first: Thing?
        do {
            let thing = Thing()
            first = thing
            log.append(thing, size: size)
        }
        #expect(first != nil)
        for _ in 0..<10 { log.append(Thing(), size: sizeOfOthers) }
        #expect(first == nil)
        #expect(log[1] == nil)
    }

    @Test func theLastAreKeptInTheirOrder() {
        var log = RecentLog<String>(capacity: 3, totalCapacity: 100)
        #expect(log.ids.isEmpty && log.nextID == 1)
        for number in 1...5 { log.append("\(number)", size: 1) }
        #expect(log.ids == 3..<6)
        #expect(Array(log.elements(log.ids)) == ["3", "4", "5"])
        #expect(Array(log.elements((0...4).reversed())) == ["4", "3"])
        #expect(log[5] == "5" && log[6] == nil)
    }

    @Test func theBytesOfAllAreBounded() {
        var log = RecentLog<String>(capacity: 10, totalCapacity: 10)
        for number in 1...6 { log.append("\(number)", size: number) }
        #expect(log.ids == 6..<7)
        log.append("too large", size: 11)
        #expect(log.ids.isEmpty && log[7] == nil)
        log.append("8", size: 10)
        #expect(Array(log.elements(log.ids)) == ["8"])
    }

    @Test func numbersGoOnWhenAllIsForgotten() {
        var log = RecentLog<String>(capacity: 2, totalCapacity: 10)
        log.append("1", size: 10)
        log.removeAll()
        #expect(log.ids.isEmpty && log[1] == nil && log.nextID == 2)
        log.append("2", size: 10)
        #expect(log.ids == 2..<3)
    }
}
