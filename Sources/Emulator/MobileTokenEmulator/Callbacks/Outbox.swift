import Coordination
import EmulatorBackend
import Foundation

/// The queue of deliveries to the bank: waiting ones, those in progress, and the last completed ones.
///
/// It only decides: the owner sends what ``takeDue(at:)`` returns and reports the outcome. Times are the server clock's.
/// A delivery on an operation or activation waits until the one before it has arrived or failed for good.
struct Outbox: Sendable {
    struct Delivery: Sendable, Equatable {
        typealias State = Emulator.DeliverySummary.State

        let id: UInt64
        let message: CallbackMessage
        let created: Milliseconds
        /// Shows the bank which attempts concern the same event.
        let idempotencyKey = UUID().uuidString.lowercased()
        fileprivate(set) var state = State.waiting
        /// The number of completed attempts.
        fileprivate(set) var attempts = 0
        /// The number of attempts since it was created or sent again.
        fileprivate var attemptsInARow = 0
        fileprivate(set) var outcome: Outcome?
        /// The time of the next attempt, while it waits.
        fileprivate(set) var due: Milliseconds?
        /// The fault rule that delays it, and lets newer news pass.
        fileprivate(set) var lateBy: String?
        /// The epoch in which it was taken.
        fileprivate var epoch = 0

        var isOpen: Bool { self.state == .waiting || self.state == .underWay }
    }

    enum Outcome: Sendable, Equatable {
        case response(status: Int)
        case noResponse(reason: String)

        var isSuccess: Bool {
            if case .response(let status) = self { (200..<300).contains(status) } else { false }
        }

        /// The reason of a failure; `nil` for a success.
        var failure: String? {
            switch self {
            case .noResponse(let reason): return reason
            case .response(let status) where !self.isSuccess:
                let hint = (300..<400).contains(status) ? "; redirects are not followed" : ""
                return "the bank answered \(status)\(hint)"
            case .response: return nil
            }
        }

        /// The reply in the journal.
        ///
        /// - Parameter body: The body of the response.
        func reply(_ body: [UInt8] = []) -> Reply {
            let verdict = self.failure.map { Verdict.refused(reason: $0) } ?? .accepted
            return switch self {
            case .response(let status): Reply(status: status, body: body, verdict: verdict)
            case .noResponse: Reply(status: 0, verdict: verdict)
            }
        }
    }

    struct Capacity: Sendable {
        /// The maximum number of open deliveries.
        var open = 10_000
        /// The maximum number of ended deliveries.
        var ended = 1_000
        /// The maximum size of their bodies, in bytes.
        var bytes = 32 << 20
        /// The maximum number of concurrent deliveries.
        var underWay = 16
    }

    private struct Appointment: Comparable {
        let due: Milliseconds
        let id: UInt64

        static func < (one: Self, other: Self) -> Bool { (one.due, one.id) < (other.due, other.id) }
    }

    /// The way of the news of one object to one address.
    private struct Lane: Hashable {
        let address: String
        let objectID: String

        init?(_ message: CallbackMessage?) {
            guard let message, let objectID = message.objectID else { return nil }
            (self.address, self.objectID) = (message.callbackID ?? message.url, objectID)
        }
    }

    private var capacity: Capacity
    private var deliveries: [UInt64: Delivery] = [:]
    private var appointments = Heap<Appointment>()
    /// The open deliveries that arrive one after the other, in their order.
    private var lanes: [Lane: [UInt64]] = [:]
    /// Oldest first.
    private var ended: [UInt64] = []
    private var underWay = 0
    private var open = 0
    private var bytes = 0
    private(set) var lastID: UInt64 = 0
    /// The number of times that all deliveries were replaced.
    private var epoch = 0
    /// The pauses by callback, without those that never failed.
    private var pauses: [String: FailurePause] = [:]
    /// The callbacks paused by hand.
    private var held: Set<String> = []

    init(capacity: Capacity = Capacity()) { self.capacity = capacity }

    var count: Int { self.deliveries.count }
    var newestFirst: [Delivery] { self.deliveries.values.sorted { $0.id > $1.id } }

    subscript(id: UInt64) -> Delivery? { self.deliveries[id] }

    /// The time of the next delivery; `nil` if none waits, or no more may be in progress.
    var nextDue: Milliseconds? { self.underWay < self.capacity.underWay ? self.appointments.min?.due : nil }

    /// Indicates whether nothing is in progress or due.
    func isIdle(at now: Milliseconds) -> Bool {
        self.underWay == 0 && self.appointments.min.map { now < $0.due } ?? true
    }

    // MARK: Changes

    /// Queues a message. It fails at once if the queue is full or its callback is paused.
    @discardableResult
    mutating func add(_ message: CallbackMessage, at now: Milliseconds) -> Delivery {
        self.lastID += 1
        let delivery = Delivery(id: self.lastID, message: message, created: now)
        self.deliveries[delivery.id] = delivery
        self.bytes += message.size
        self.open += 1
        return self.schedule(delivery.id, at: now) ?? delivery
    }

    /// Sends a completed delivery again.
    ///
    /// - Returns: `nil` if there is none.
    mutating func replay(_ id: UInt64, at now: Milliseconds) -> Delivery? {
        guard let index = self.ended.firstIndex(of: id) else { return nil }
        self.ended.remove(at: index)
        self.open += 1
        self.deliveries[id]?.attemptsInARow = 0
        return self.schedule(id, at: now)
    }

    /// Sends again what has failed of a callback, oldest first, but no news that later news of the same object have replaced.
    mutating func replayFailed(ofCallback id: String, at now: Milliseconds) -> [Delivery] {
        let own = self.newestFirst.filter { $0.message.callbackID == id }
        var told: Set<Lane> = []
        var failed: [UInt64] = []
        for delivery in own {
            let lane = Lane(delivery.message)
            if delivery.state == .failed, lane.map({ !told.contains($0) }) ?? true { failed.append(delivery.id) }
            if delivery.state == .delivered, let lane { told.insert(lane) }
        }
        return failed.reversed().compactMap { self.replay($0, at: now) }
    }

    /// Pauses a callback, or resumes it, even from a pause after many failures.
    mutating func setPaused(_ isPaused: Bool, callback id: String) {
        if isPaused {
            self.held.insert(id)
        } else {
            self.held.remove(id)
            self.pauses[id] = nil
        }
    }

    /// Returns the reason why a callback is paused; `nil` if it is not.
    func pause(ofCallback id: String, at now: Milliseconds) -> String? {
        if self.held.contains(id) { return "the callback is paused" }
        guard self.pauses[id]?.isPaused(at: now) == true else { return nil }
        return "the callback is paused, after many failures in a row"
    }

    private mutating func schedule(_ id: UInt64, at now: Milliseconds) -> Delivery? {
        guard let message = self.deliveries[id]?.message else { return nil }
        if let reason = message.callbackID.flatMap({ self.pause(ofCallback: $0, at: now) }) {
            return self.end(id, .failed, .noResponse(reason: reason))
        } else if self.open > self.capacity.open || self.bytes > self.capacity.bytes {
            return self.end(id, .failed, .noResponse(reason: "too many deliveries wait"))
        }
        guard let lane = Lane(message) else { return self.wait(id, until: now) }
        self.lanes[lane, default: []].append(id)
        guard let first = self.lanes[lane]?.first, first != id else { return self.wait(id, until: now) }
        self.deliveries[id]?.state = .waiting
        let due = self.deliveries[first]?.due ?? now
        self.deliveries[id]?.due = due
        return self.deliveries[id]
    }

    @discardableResult
    private mutating func wait(_ id: UInt64, until due: Milliseconds) -> Delivery? {
        self.deliveries[id]?.state = .waiting
        self.deliveries[id]?.due = due
        self.appointments.insert(Appointment(due: due, id: id))
        if let lane = Lane(self.deliveries[id]?.message), let ids = self.lanes[lane], ids.first == id {
            for follower in ids.dropFirst() { self.deliveries[follower]?.due = due }
        }
        return self.deliveries[id]
    }

    /// Lets the next delivery of the lane be sent.
    private mutating func leaveLane(_ id: UInt64, at now: Milliseconds) {
        guard let lane = Lane(self.deliveries[id]?.message), var ids = self.lanes[lane] else { return }
        let wasFirst = ids.first == id
        ids.removeAll { $0 == id }
        self.lanes[lane] = ids.isEmpty ? nil : ids
        if wasFirst, let next = ids.first { self.wait(next, until: now) }
    }

    // MARK: Late deliveries

    /// Lets a delivery that ``takeDue(at:)`` returned arrive later than what follows it.
    mutating func postpone(_ id: UInt64, by rule: String, until due: Milliseconds, at now: Milliseconds) {
        guard self.deliveries[id]?.state == .underWay else { return }
        self.underWay -= 1
        self.deliveries[id]?.lateBy = rule
        self.leaveLane(id, at: now)
        self.wait(id, until: due)
    }

    /// The number of deliveries that a fault rule delays.
    func postponedCount(by rule: String) -> Int {
        self.deliveries.values.count { $0.state == .waiting && $0.lateBy == rule }
    }

    /// Lets the deliveries be sent now that a rule, or any rule, delays.
    mutating func release(postponedBy rule: String?, at now: Milliseconds) {
        let released = self.deliveries.values.filter { delivery in
            delivery.state == .waiting && delivery.lateBy.map { rule == nil || $0 == rule } ?? false
        }
        let ids = Set(released.map(\.id))
        guard !ids.isEmpty else { return }
        var others = Heap<Appointment>()
        while let next = self.appointments.removeMin() {
            if !ids.contains(next.id) { others.insert(next) }
        }
        self.appointments = others
        for id in ids.sorted() { self.wait(id, until: now) }
    }

    /// Returns the deliveries to send now, oldest first.
    mutating func takeDue(at now: Milliseconds) -> [Delivery] {
        var due: [Delivery] = []
        while let next = self.nextDue, next <= now, let id = self.appointments.removeMin()?.id {
            self.deliveries[id]?.state = .underWay
            self.deliveries[id]?.due = nil
            self.deliveries[id]?.epoch = self.epoch
            guard let delivery = self.deliveries[id] else { continue }
            self.underWay += 1
            due.append(delivery)
        }
        return due
    }

    /// Returns whether a delivery from ``takeDue(at:)`` still awaits its outcome.
    func awaits(_ delivery: Delivery) -> Bool {
        self.deliveries[delivery.id].map { $0.state == .underWay && $0.epoch == delivery.epoch } ?? false
    }

    /// Records the outcome of a delivery from ``takeDue(at:)``.
    @discardableResult
    mutating func finish(_ id: UInt64, _ outcome: Outcome, at now: Milliseconds) -> Delivery? {
        guard var delivery = self.deliveries[id], delivery.state == .underWay else { return nil }
        self.underWay -= 1
        delivery.attempts += 1
        delivery.attemptsInARow += 1
        delivery.outcome = outcome
        delivery.lateBy = nil
        self.deliveries[id] = delivery
        if let callbackID = delivery.message.callbackID { self.note(outcome, of: callbackID, at: now) }
        if outcome.isSuccess {
            self.leaveLane(id, at: now)
            return self.end(id, .delivered, outcome)
        } else if delivery.attemptsInARow < delivery.message.maximumAttempts {
            return self.wait(id, until: now + RetrySchedule.pause(afterAttempt: delivery.attemptsInARow))
        } else {
            self.leaveLane(id, at: now)
            return self.end(id, .failed, outcome)
        }
    }

    private mutating func note(_ outcome: Outcome, of callbackID: String, at now: Milliseconds) {
        if outcome.isSuccess {
            self.pauses[callbackID] = nil
        } else {
            self.pauses[callbackID, default: FailurePause()].fail(at: now)
        }
    }

    /// - Returns: The completed delivery, even if there is no room to keep it.
    private mutating func end(_ id: UInt64, _ state: Delivery.State, _ outcome: Outcome) -> Delivery? {
        self.open -= 1
        self.deliveries[id]?.state = state
        self.deliveries[id]?.outcome = outcome
        let ended = self.deliveries[id]
        self.ended.append(id)
        self.forgetOldest()
        return ended
    }

    private mutating func forgetOldest() {
        while self.ended.count > self.capacity.ended || self.bytes > self.capacity.bytes, !self.ended.isEmpty {
            let forgotten = self.deliveries.removeValue(forKey: self.ended.removeFirst())
            self.bytes -= forgotten?.message.size ?? 0
        }
    }

    /// Replaces all deliveries. Those in progress wait again. Numbers continue, so that a current delivery is not taken for a new
    /// one.
    mutating func replace(with other: Self) {
        let (capacity, lastID, epoch) = (self.capacity, self.lastID, self.epoch)
        self = other
        self.capacity = capacity
        self.lastID = max(lastID, other.lastID)
        self.epoch = epoch + 1
        for delivery in self.deliveries.values where delivery.state == .underWay {
            self.underWay -= 1
            self.wait(delivery.id, until: delivery.created)
        }
        self.forgetOldest()
    }
}

enum RetrySchedule {
    /// Two seconds after the first attempt, 1.5 times longer after each further one, at most 32 seconds.
    static func pause(afterAttempt attempt: Int) -> Milliseconds {
        var pause = 2000.0
        for _ in 1..<max(1, min(attempt, 16)) { pause *= 1.5 }
        return Milliseconds(min(pause, 32_000))
    }
}

/// The pause of a callback that keeps failing.
struct FailurePause: Sendable {
    private static let threshold = 200
    private static let length: Milliseconds = 60_000

    private var failures = 0
    private var end: Milliseconds?

    /// Counts a failure. From the 200th consecutive one on, each starts a pause of one minute.
    mutating func fail(at now: Milliseconds) {
        self.failures = min(self.failures + 1, Self.threshold)
        if self.failures >= Self.threshold { self.end = now + Self.length }
    }

    func isPaused(at now: Milliseconds) -> Bool { self.end.map { now < $0 } ?? false }
}

extension CallbackMessage {
    /// The approximate size in bytes.
    fileprivate var size: Int { self.body.count + self.url.utf8.count + 256 }
}
