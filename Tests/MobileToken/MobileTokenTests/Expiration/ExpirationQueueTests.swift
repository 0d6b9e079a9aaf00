import Foundation
import MobileToken
import MobileTokenScreens
import Testing

@Suite struct ExpirationQueueTests {
    private let date = UserOperation.sampleDate

    private func queue(_ operations: UserOperation...) -> ExpirationQueue<UserOperation> {
        var queue = ExpirationQueue<UserOperation>()
        queue.add(operations)
        return queue
    }

    @Test func itSleepsToTheEarliestDeadlineAndReportsEverythingExpired() {
        var queue = self.queue(.sample("c", expiresIn: 20), .sample("a", expiresIn: 10), .sample("b", expiresIn: 10))
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(10)))
        guard case .report(let expired, _) = queue.step(at: .seconds(10), serverDate: self.date + 10) else {
            Issue.record("nothing was reported")
            return
        }
        #expect(Set(expired.map(\.id)) == ["a", "b"])
        #expect(queue.step(at: .seconds(10), serverDate: self.date + 10) == .sleep(until: .seconds(20)))
        #expect(queue.count == 1)
    }

    @Test func reportsAreAtLeastFiveSecondsApart() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("b", expiresIn: 11), .sample("c", expiresIn: 12))
        #expect(
            queue.step(at: .seconds(10), serverDate: self.date + 10)
                == .report([.sample("a", expiresIn: 10)], remind: [:])
        )
        #expect(queue.step(at: .seconds(11), serverDate: self.date + 11) == .sleep(until: .seconds(15)))
        #expect(
            queue.step(at: .seconds(15), serverDate: self.date + 15)
                == .report([.sample("b", expiresIn: 11), .sample("c", expiresIn: 12)], remind: [:])
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
            queue.step(at: .seconds(30), serverDate: self.date + 7_200)
                == .report([.sample("a", expiresIn: 3_600)], remind: [:])
        )
    }

    @Test func addingTwiceWatchesOnceAndAChangedDeadlineCounts() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("a", expiresIn: 10))
        #expect(queue.count == 1)
        queue.add([.sample("a", expiresIn: 5)])
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(5)))
        queue.add([.sample("a", expiresIn: 25)])
        #expect(queue.step(at: .seconds(10), serverDate: self.date + 10) == .sleep(until: .seconds(25)))
        #expect(
            queue.step(at: .seconds(25), serverDate: self.date + 25)
                == .report([.sample("a", expiresIn: 25)], remind: [:])
        )
    }

    @Test func removedOperationsAreForgotten() {
        var queue = self.queue(.sample("a", expiresIn: 10), .sample("b", expiresIn: 20))
        queue.remove([.sample("a"), .sample("unknown")])
        #expect(queue.step(at: .zero, serverDate: self.date) == .sleep(until: .seconds(20)))
        queue.removeAll()
        #expect(queue.step(at: .zero, serverDate: self.date) == .wait)
    }

    @Test func manyDeadlinesComeOutInOrder() {
        var queue = ExpirationQueue<UserOperation>()
        let operations = (0..<400).map { UserOperation.sample("\($0)", expiresIn: Double($0) * 7) }
        queue.add(operations.shuffled())
        queue.add(operations.shuffled())
        queue.remove(operations.filter { $0.expires.timeIntervalSince1970.truncatingRemainder(dividingBy: 2) == 0 })
        var reported: [UserOperation] = []
        var now = Duration.zero
        while true {
            switch queue.step(at: now, serverDate: self.date + now / .seconds(1)) {
            case .report(let expired, _): reported += expired
            case .sleep(let deadline): now = deadline
            case .wait:
                #expect(reported.count == 200)
                #expect(reported == reported.sorted { $0.expires < $1.expires })
                return
            }
        }
    }

    @Test func watchingAndForgettingDoesNotPileUpDeadlines() {
        var queue = ExpirationQueue<UserOperation>()
        for round in 0..<1_000 { queue.add([.sample("a", expiresIn: Double(round))]) }
        #expect(queue.count == 1)
        #expect(queue.deadlineCount < 100)
    }

    @Test func listsAreRemindedAtGrowingDistancesUntilTheyLetGo() {
        var queue = ExpirationQueue<UserOperation>()
        let operation = UserOperation.sample("a", expiresIn: 10)
        queue.add([operation], for: .list(1))
        queue.add([operation])
        #expect(
            queue.step(at: .seconds(10), serverDate: self.date + 10) == .report([operation], remind: [1: [operation]])
        )
        #expect(queue.holderCount(of: operation.identity) == 1)  // once is enough for the hand
        var now = Duration.seconds(10)
        for distance in [5, 10, 20, 30, 30] {
            let next = now + .seconds(distance)
            #expect(queue.step(at: now, serverDate: self.date + 60) == .sleep(until: next))
            queue.add([.sample("a", name: "login", expiresIn: 10)], for: .list(1))  // another change is no new time
            guard case .report([], let remind) = queue.step(at: next, serverDate: self.date + 60) else {
                Issue.record("nobody was reminded")
                return
            }
            #expect(remind.keys.sorted() == [1])
            now = next
        }
        queue.add([.sample("a", expiresIn: 1_000)], for: .list(1))  // a new time starts anew
        #expect(queue.step(at: now, serverDate: self.date + 990) == .sleep(until: now + .seconds(10)))
        queue.remove([operation], for: .list(1))
        #expect(queue.step(at: now, serverDate: self.date + 2_000) == .wait)
    }

    @Test func remindersKeepTheirDistanceToReports() {
        var queue = ExpirationQueue<UserOperation>()
        queue.add([.sample("a", expiresIn: 10), .sample("b", expiresIn: 13)], for: .list(1))
        #expect(
            queue.step(at: .seconds(10), serverDate: self.date + 10)
                == .report([.sample("a", expiresIn: 10)], remind: [1: [.sample("a", expiresIn: 10)]])
        )
        #expect(queue.step(at: .seconds(13), serverDate: self.date + 13) == .sleep(until: .seconds(15)))
        guard case .report(let expired, let remind) = queue.step(at: .seconds(15), serverDate: self.date + 15) else {
            Issue.record("nothing was reported")
            return
        }
        #expect(expired.map(\.id) == ["b"])
        #expect(remind[1]?.map(\.id).sorted() == ["a", "b"])
    }

    @Test func anItemIsWatchedWhileAnybodyHoldsIt() {
        var queue = ExpirationQueue<UserOperation>()
        let operation = UserOperation.sample("a", expiresIn: 10)
        queue.add([operation], for: .list(1))
        queue.add([operation], for: .list(2))
        queue.add([operation], for: .list(2))
        queue.remove([operation], for: .list(3))
        queue.remove([operation], for: .list(2))
        #expect(queue.items == [operation])
        queue.removeAll()
        #expect(queue.count == 1)
        queue.remove([operation], for: .list(1))
        #expect(queue.count == 0)
    }

    @Test(arguments: [.nan, -.infinity, -1e300] as [Double])
    func aServerDateThatIsNoneIsLookedAtAgainInHalfAMinute(seconds: Double) {
        var queue = self.queue(.sample("a", expiresIn: 10))
        let step = queue.step(at: .zero, serverDate: Date(timeIntervalSince1970: seconds))
        #expect(step == .sleep(until: .seconds(30)))
    }
}
