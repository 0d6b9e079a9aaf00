import Foundation
import MobileToken
import Testing

@Suite struct ExpirationQueueTests {
    private let date = UserOperation.sampleDate

    private func queue(_ operations: UserOperation...) -> ExpirationQueue {
        var queue = ExpirationQueue()
        queue.add(operations)
        return queue
    }

    @Test func itSleepsToTheEarliestDeadlineAndReportsEverythingExpired() {
        var queue = self.queue(.sample("c", expiresIn: 20), .sample("a", expiresIn: 10), .sample("b", expiresIn: 10))
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(10)))
        guard case .report(let expired) = queue.step(at: .seconds(10), serverDate: self.date + 10) else {
            Issue.record("nothing was reported")
            return
        }
        #expect(Set(expired.map(\.id)) == ["a", "b"])
        #expect(queue.step(at: .seconds(10), serverDate: self.date + 10) == .sleep(until: .seconds(20)))
        #expect(queue.count == 1)
    }

    @Test func reportsAreAtLeastFiveSecondsApart() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("b", expiresIn: 11), .sample("c", expiresIn: 12))
        #expect(queue.step(at: .seconds(10), serverDate: self.date + 10) == .report([.sample("a", expiresIn: 10)]))
        #expect(queue.step(at: .seconds(11), serverDate: self.date + 11) == .sleep(until: .seconds(15)))
        #expect(
            queue.step(at: .seconds(15), serverDate: self.date + 15)
                == .report([.sample("b", expiresIn: 11), .sample("c", expiresIn: 12)])
        )
        #expect(queue.step(at: .seconds(15), serverDate: self.date + 15) == .wait)
    }

    @Test func aTimerThatFindsNothingExpiredIsSetAgain() {
        var queue = self.queue(.sample("a", expiresIn: 10))
        // The wall clock was set back by an hour while the timer ran.
        let step = queue.step(at: .seconds(10), serverDate: self.date - 3_590)
        #expect(step == .sleep(until: .seconds(40)))
    }

    @Test func aWallClockSetForwardIsNoticedWithinHalfAMinute() {
        var queue = self.queue(.sample("a", expiresIn: 3_600))
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(30)))
        #expect(
            queue.step(at: .seconds(30), serverDate: self.date + 7_200) == .report([.sample("a", expiresIn: 3_600)])
        )
    }

    @Test func addingTwiceWatchesOnceAndAChangedDeadlineCounts() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("a", expiresIn: 10))
        #expect(queue.count == 1)
        queue.add([.sample("a", expiresIn: 5)])
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(5)))
        queue.add([.sample("a", expiresIn: 25)])
        #expect(queue.step(at: .seconds(10), serverDate: self.date + 10) == .sleep(until: .seconds(25)))
        #expect(queue.step(at: .seconds(25), serverDate: self.date + 25) == .report([.sample("a", expiresIn: 25)]))
    }

    @Test func removedOperationsAreForgotten() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("b", expiresIn: 20))
        queue.remove([.sample("a"), .sample("unknown")])
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(20)))
        queue.removeAll()
        #expect(queue.step(at: .zero, serverDate: self.date) == .wait)
    }

    @Test func manyDeadlinesComeOutInOrder() {
        var queue = ExpirationQueue()
        let operations = (0..<400).map { UserOperation.sample("\($0)", expiresIn: Double($0) * 7) }
        queue.add(operations.shuffled())
        queue.add(operations.shuffled())
        queue.remove(operations.filter { $0.expires.timeIntervalSince1970.truncatingRemainder(dividingBy: 2) == 0 })
        var reported: [UserOperation] = []
        var now = Duration.zero
        while true {
            switch queue.step(at: now, serverDate: self.date + now / .seconds(1)) {
            case .report(let expired): reported += expired
            case .sleep(let deadline): now = deadline
            case .wait:
                #expect(reported.count == 200)
                #expect(reported == reported.sorted { $0.expires < $1.expires })
                return
            }
        }
    }

    @Test func watchingAndForgettingDoesNotPileUpDeadlines() {
        var queue = ExpirationQueue()
        for round in 0..<1_000 { queue.add([.sample("a", expiresIn: Double(round))]) }
        #expect(queue.count == 1)
        #expect(queue.deadlineCount < 100)
    }

    @Test(arguments: [.nan, -.infinity, -1e300] as [Double])
    func aServerDateThatIsNoneIsLookedAtAgainInHalfAMinute(seconds: Double) {
        var queue = self.queue(.sample("a", expiresIn: 10))
        let step = queue.step(at: .zero, serverDate: Date(timeIntervalSince1970: seconds))
        #expect(step == .sleep(until: .seconds(30)))
    }
}
