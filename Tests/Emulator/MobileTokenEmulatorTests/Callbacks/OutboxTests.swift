import Testing

@testable import MobileTokenEmulator

/// The rules by which callbacks are delivered, as values.
@Suite struct OutboxTests {
    private static func message(attempts: Int = 1, callbackID: String? = "c", object: String? = nil, size: Int = 2)
        -> CallbackMessage
    {
        var message = CallbackMessage(url: "http://bank/hook", body: Array(repeating: 0x20, count: size))
        (message.callbackID, message.objectID, message.maximumAttempts) = (callbackID, object, attempts)
        return message
    }

    private let failure = Outbox.Outcome.response(status: 500)
    private let success = Outbox.Outcome.response(status: 204)

    @Test func thePausesGrowByHalfAndEndAt32Seconds() {
        let pauses = (1...9).map { RetrySchedule.pause(afterAttempt: $0) }
        #expect(pauses == [2000, 3000, 4500, 6750, 10_125, 15_187, 22_781, 32_000, 32_000])
        #expect(RetrySchedule.pause(afterAttempt: .max) == 32_000)
        #expect(RetrySchedule.pause(afterAttempt: .min) == 2000)
    }

    @Test func aDeliveryIsTriedOnceUnlessMoreAttemptsAreAskedFor() throws {
        let outbox = Post()
        let id = outbox.add(Self.message(), at: 1000).id
        #expect(outbox.nextDue == 1000)
        #expect(outbox.takeDue(at: 999).isEmpty)
        #expect(outbox.takeDue(at: 1000).map(\.id) == [id])
        #expect(outbox.takeDue(at: 1000).isEmpty)
        outbox.finish(id, self.failure, at: 1100)
        #expect(outbox[id]?.state == .failed && outbox[id]?.attempts == 1 && outbox[id]?.outcome == self.failure)
        #expect(outbox.nextDue == nil)
    }

    @Test func aDeliveryIsTriedAgainUntilItSucceeds() throws {
        let outbox = Post()
        let id = outbox.add(Self.message(attempts: 5), at: 0).id
        var now: Milliseconds = 0
        for pause: Milliseconds in [2000, 3000, 4500] {
            #expect(outbox.takeDue(at: now).count == 1)
            outbox.finish(id, .noResponse(reason: "refused"), at: now)
            #expect(outbox[id]?.state == .waiting && outbox[id]?.due == now + pause)
            #expect(outbox.takeDue(at: now + pause - 1).isEmpty)
            now += pause
        }
        #expect(outbox.takeDue(at: now).count == 1)
        outbox.finish(id, self.success, at: now)
        #expect(outbox[id]?.state == .delivered && outbox[id]?.attempts == 4)
    }

    /// DEFECTS3 E 44: an attempt that was made again arrived after later news.
    @Test func newsOfOneObjectWaitsForTheNewsBeforeIt() throws {
        let outbox = Post()
        let first = outbox.add(Self.message(attempts: 2, object: "o"), at: 0).id
        let others = [Self.message(object: "p"), Self.message(callbackID: "d", object: "o"), Self.message()]
            .map { outbox.add($0, at: 0).id }
        #expect(outbox.takeDue(at: 0).map(\.id) == [first] + others)
        let later = outbox.add(Self.message(object: "o"), at: 1).id
        let last = outbox.add(Self.message(object: "o"), at: 1).id
        #expect(outbox.takeDue(at: 1).isEmpty)  // the first is under way
        outbox.finish(first, self.failure, at: 10)
        #expect([later, last].map { outbox[$0]?.due } == [2010, 2010] && outbox.takeDue(at: 2009).isEmpty)
        #expect(outbox.takeDue(at: 2010).map(\.id) == [first])
        outbox.finish(first, self.failure, at: 2011)  // for good
        #expect(outbox.takeDue(at: 2011).map(\.id) == [later])
        outbox.finish(later, self.success, at: 2012)
        #expect(outbox.takeDue(at: 2012).map(\.id) == [last])
        // Sent again by hand, it is news of now.
        #expect(outbox.replay(first, at: 2013) && outbox.takeDue(at: 2013).isEmpty)
        outbox.finish(last, self.success, at: 2014)
        #expect(outbox.takeDue(at: 2014).map(\.id) == [first])
    }

    /// Old news must not undo what the bank was told since.
    @Test func whatHasFailedIsSentAgainUnlessLaterNewsHaveArrived() throws {
        let outbox = Post()
        func tell(_ object: String?, callbackID: String = "c", _ outcome: Outbox.Outcome) -> UInt64 {
            let id = outbox.add(Self.message(callbackID: callbackID, object: object), at: 0).id
            #expect(outbox.takeDue(at: 0).map(\.id) == [id])
            outbox.finish(id, outcome, at: 0)
            return id
        }
        let replaced = tell("o", self.failure)
        let delivered = tell("o", self.success)
        let failed = [
            tell("p", self.failure), tell("p", self.failure), tell("o", self.failure), tell(nil, self.failure),
        ]
        let others = tell("p", callbackID: "d", self.failure)
        #expect(outbox.replayFailed(ofCallback: "c", at: 9).map(\.id) == failed)
        // The two of one object one after the other.
        #expect(outbox.takeDue(at: 9).map(\.id) == [failed[0], failed[2], failed[3]])
        outbox.finish(failed[0], self.success, at: 10)
        #expect(outbox.takeDue(at: 10).map(\.id) == [failed[1]])
        #expect([replaced, delivered, others].map { outbox[$0]?.attempts } == [1, 1, 1])
    }

    @Test func newsThatAFaultDelaysIsPassedByLaterNews() throws {
        let outbox = Post()
        let ids = (0..<3).map { _ in outbox.add(Self.message(object: "o"), at: 0).id }
        for id in ids.prefix(2) {
            #expect(outbox.takeDue(at: 0).map(\.id) == [id])
            outbox.postpone(id, by: "late", until: 5000, at: 0)
        }
        #expect(outbox.takeDue(at: 0).map(\.id) == [ids[2]] && outbox.postponedCount(by: "late") == 2)
        outbox.release(postponedBy: "another", at: 1)
        #expect(outbox.takeDue(at: 4999).isEmpty)
        #expect(outbox.takeDue(at: 5000).map(\.id) == [ids[0], ids[1]])
        outbox.postpone(ids[0], by: "late", until: 9000, at: 5000)
        outbox.release(postponedBy: nil, at: 5001)
        #expect(outbox.takeDue(at: 5001).map(\.id) == [ids[0]] && outbox.postponedCount(by: "late") == 0)
    }

    /// DEFECTS3 E 44: an attempt was due within a second after its time.
    @Test func theServerWakesWhenTheNextAttemptIsDue() {
        #expect(EmulatorCore.pause(before: [], at: 7) == .seconds(1))
        #expect(EmulatorCore.pause(before: [2007, nil], at: 7) == .seconds(1))
        #expect(EmulatorCore.pause(before: [2007, 1300], at: 1007) == .milliseconds(293))
        #expect(EmulatorCore.pause(before: [7, 6, 8], at: 7) == .milliseconds(1))  // what is due is awake already
        #expect(EmulatorCore.pause(before: [.max], at: .min) == .seconds(1))
    }

    @Test func aCallbackThatFails200TimesIsPausedForAMinute() throws {
        let outbox = Post()
        func fail(at now: Milliseconds) {
            let id = outbox.add(Self.message(), at: now).id
            #expect(outbox.takeDue(at: now).count == 1)
            outbox.finish(id, self.failure, at: now)
        }
        for _ in 0..<200 { fail(at: 0) }
        let refused = outbox.add(Self.message(), at: 59_999)
        #expect(refused.state == .failed && refused.attempts == 0)
        #expect(outbox.add(Self.message(callbackID: "another"), at: 0).state == .waiting)
        #expect(outbox.takeDue(at: 0).count == 1)
        // After the pause one failure begins the next; a success ends it.
        fail(at: 60_000)
        #expect(outbox.add(Self.message(), at: 100_000).state == .failed)
        let last = outbox.add(Self.message(), at: 120_000).id
        #expect(outbox.takeDue(at: 120_000).count == 1)
        outbox.finish(last, self.success, at: 120_000)
        fail(at: 120_001)
        #expect(outbox.add(Self.message(), at: 120_002).state == .waiting)
    }

    @Test func aCallbackThatIsPausedByHandSendsNothingUntilItIsResumed() throws {
        let outbox = Post()
        outbox.setPaused(true, callback: "callback")
        let refused = outbox.add(Self.message(callbackID: "callback"), at: 1 << 40)
        #expect(refused.state == .failed && refused.outcome == .noResponse(reason: "the callback is paused"))
        #expect(outbox.add(Self.message(callbackID: "another"), at: 0).state == .waiting)
        #expect(outbox.add(Self.message(callbackID: nil), at: 0).state == .waiting)
        outbox.setPaused(false, callback: "callback")
        #expect(outbox.replay(refused.id, at: 0))
        #expect(outbox[refused.id]?.state == .waiting)
        // A pause after many failures ends, too; a reset forgets all of them.
        for _ in 0..<200 {
            let id = outbox.add(Self.message(callbackID: "failing"), at: 0).id
            for due in outbox.takeDue(at: 0) { outbox.finish(due.id, self.failure, at: 0) }
            #expect(outbox[id]?.state == .failed)
        }
        #expect(outbox.add(Self.message(callbackID: "failing"), at: 0).state == .failed)
        outbox.setPaused(false, callback: "failing")
        #expect(outbox.add(Self.message(callbackID: "failing"), at: 0).state == .waiting)
        outbox.setPaused(true, callback: "failing")
        outbox.removeAll()
        #expect(outbox.add(Self.message(callbackID: "failing"), at: 0).state == .waiting)
    }

    @Test func whatHasEndedIsSentAgainWithAllItsAttempts() throws {
        let outbox = Post()
        let id = outbox.add(Self.message(attempts: 2), at: 0).id
        #expect(outbox.replay(id, at: 0) == false)  // it has not ended
        for now: Milliseconds in [0, 2000] {
            #expect(outbox.takeDue(at: now).count == 1)
            outbox.finish(id, self.failure, at: now)
        }
        #expect(outbox[id]?.state == .failed)
        #expect(outbox.replay(id, at: 5000))
        #expect(outbox.replay(id, at: 5000) == false)
        #expect(outbox.takeDue(at: 5000).count == 1)
        outbox.finish(id, self.failure, at: 5000)
        #expect(outbox[id]?.state == .waiting && outbox[id]?.due == 7000 && outbox[id]?.attempts == 3)
        #expect(outbox.replay(99, at: 0) == false)
    }

    @Test func itHoldsSoMuchAndNoMore() throws {
        var capacity = Outbox.Capacity()
        (capacity.open, capacity.ended, capacity.bytes, capacity.underWay) = (5, 3, 10_000, 2)
        let outbox = Post(Outbox(capacity: capacity))
        let ids = (0..<5).map { _ in outbox.add(Self.message(callbackID: nil), at: 0).id }
        #expect(outbox.add(Self.message(callbackID: nil), at: 0).state == .failed)
        #expect(outbox.takeDue(at: 0).map(\.id) == [ids[0], ids[1]])
        #expect(outbox.nextDue == nil && outbox.takeDue(at: 0).isEmpty)
        for id in ids {
            outbox.finish(id, self.success, at: 0)
            _ = outbox.takeDue(at: 0)
        }
        #expect(outbox.newestFirst.map(\.id) == [ids[4], ids[3], ids[2]])
        #expect(outbox.add(Self.message(callbackID: nil, size: 20_000), at: 0).state == .failed)
        #expect(outbox.add(Self.message(callbackID: nil), at: 0).state == .waiting)
    }

    @Test func whatWasUnderWayAtAResetIsTakenForNothingElse() throws {
        let outbox = Post()
        let id = outbox.add(Self.message(), at: 0).id
        #expect(outbox.takeDue(at: 0).count == 1)
        outbox.removeAll()
        #expect(outbox.add(Self.message(), at: 0).id == id + 1)
        outbox.finish(id, self.success, at: 0)
        #expect(outbox.newestFirst.map(\.state) == [.waiting])
    }

    @Test func whatWasUnderWayWhenItWasCopiedWaitsAgainWhenItIsPutBack() throws {
        var outbox = Outbox(capacity: .init(ended: 1))
        for _ in 0..<2 { outbox.add(Self.message(), at: 0) }
        outbox.add(Self.message(attempts: 2), at: 0)
        let taken = outbox.takeDue(at: 0)
        outbox.finish(1, self.success, at: 0)
        let copy = outbox
        outbox.finish(2, self.success, at: 0)
        outbox.add(Self.message(), at: 0)
        outbox.replace(with: copy)
        #expect(outbox.newestFirst.map(\.state) == [.waiting, .waiting, .delivered] && outbox.count == 3)
        #expect(!taken.contains(where: outbox.awaits))
        let again = outbox.takeDue(at: 0)
        // An attempt of before is not taken for one of after.
        #expect(again.map(\.id) == [2, 3] && again.allSatisfy(outbox.awaits) && !taken.contains(where: outbox.awaits))
        #expect(outbox.add(Self.message(), at: 0).id == 5)
        // There may be less room than there was.
        var smaller = Outbox(capacity: .init(ended: 0))
        smaller.replace(with: copy)
        #expect(smaller.newestFirst.map(\.id) == [3, 2])
    }
}

/// An outbox whose changes may stand in expectations.
private final class Post {
    private var outbox: Outbox

    init(_ outbox: Outbox = Outbox()) { self.outbox = outbox }

    var nextDue: Milliseconds? { self.outbox.nextDue }
    var newestFirst: [Outbox.Delivery] { self.outbox.newestFirst }
    subscript(id: UInt64) -> Outbox.Delivery? { self.outbox[id] }

    @discardableResult func add(_ message: CallbackMessage, at now: Milliseconds) -> Outbox.Delivery {
        self.outbox.add(message, at: now)
    }

    func takeDue(at now: Milliseconds) -> [Outbox.Delivery] { self.outbox.takeDue(at: now) }
    func replay(_ id: UInt64, at now: Milliseconds) -> Bool { self.outbox.replay(id, at: now) != nil }
    func replayFailed(ofCallback id: String, at now: Milliseconds) -> [Outbox.Delivery] {
        self.outbox.replayFailed(ofCallback: id, at: now)
    }
    func setPaused(_ isPaused: Bool, callback id: String) { self.outbox.setPaused(isPaused, callback: id) }
    func finish(_ id: UInt64, _ outcome: Outbox.Outcome, at now: Milliseconds) {
        self.outbox.finish(id, outcome, at: now)
    }
    func postpone(_ id: UInt64, by rule: String, until due: Milliseconds, at now: Milliseconds) {
        self.outbox.postpone(id, by: rule, until: due, at: now)
    }
    func postponedCount(by rule: String) -> Int { self.outbox.postponedCount(by: rule) }
    func release(postponedBy rule: String?, at now: Milliseconds) { self.outbox.release(postponedBy: rule, at: now) }
    func removeAll() { self.outbox.replace(with: Outbox()) }
}
