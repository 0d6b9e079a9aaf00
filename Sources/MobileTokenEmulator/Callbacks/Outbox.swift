import Coordination
import EmulatorBackend

/// The queue of deliveries to the bank: those that wait, those under way, and the last that ended.
///
/// It decides and does nothing: the owner sends what ``takeDue(at:)`` returns and reports what became of it. Times are those
/// of the server's clock.
struct Outbox: Sendable {
    /// One message on its way to the bank.
    struct Delivery: Sendable, Equatable {
        typealias State = Emulator.DeliverySummary.State

        let id: UInt64
        let message: CallbackMessage
        let created: Milliseconds
        fileprivate(set) var state = State.waiting
        /// Attempts that have ended.
        fileprivate(set) var attempts = 0
        /// Attempts since it was made or sent again.
        fileprivate var attemptsInARow = 0
        /// The result of the last attempt.
        fileprivate(set) var outcome: Outcome?
        /// The time when it is tried next, while it waits.
        fileprivate(set) var due: Milliseconds?
        /// The epoch in which it was taken.
        fileprivate var epoch = 0

        var isOpen: Bool { self.state == .waiting || self.state == .underWay }
    }

    /// The result of an attempt.
    enum Outcome: Sendable, Equatable {
        case response(status: Int)
        case noResponse(reason: String)

        var isSuccess: Bool {
            if case .response(let status) = self { (200..<300).contains(status) } else { false }
        }

        /// As the journal shows it.
        ///
        /// - Parameter body: That of the response.
        func reply(_ body: [UInt8] = []) -> Reply {
            switch self {
            case .response(let status):
                Reply(
                    status: status,
                    body: body,
                    verdict: self.isSuccess ? .accepted : .refused(reason: "the bank answered \(status)")
                )
            case .noResponse(let reason): Reply(status: 0, verdict: .refused(reason: reason))
            }
        }
    }

    /// The bounds of the queue.
    struct Capacity: Sendable {
        /// Deliveries that have not ended.
        var open = 10_000
        /// Deliveries that have ended.
        var ended = 1_000
        /// Their bodies together, in bytes.
        var bytes = 32 << 20
        /// Deliveries under way at a time.
        var underWay = 16
    }

    private struct Appointment: Comparable {
        let due: Milliseconds
        let id: UInt64

        static func < (one: Self, other: Self) -> Bool { (one.due, one.id) < (other.due, other.id) }
    }

    private var capacity: Capacity
    private var deliveries: [UInt64: Delivery] = [:]
    private var appointments = Heap<Appointment>()
    /// Oldest first.
    private var ended: [UInt64] = []
    private var underWay = 0
    private var open = 0
    private var bytes = 0
    private(set) var lastID: UInt64 = 0
    /// Counts how often all deliveries were replaced.
    private var epoch = 0
    /// By callback; those that never failed are not in it.
    private var pauses: [String: FailurePause] = [:]
    /// The callbacks that were paused by hand.
    private var held: Set<String> = []

    init(capacity: Capacity = Capacity()) { self.capacity = capacity }

    var count: Int { self.deliveries.count }
    /// All deliveries, newest first.
    var newestFirst: [Delivery] { self.deliveries.values.sorted { $0.id > $1.id } }

    subscript(id: UInt64) -> Delivery? { self.deliveries[id] }

    /// The time when the next delivery is due; `nil` when none waits, or when no more may be under way.
    var nextDue: Milliseconds? { self.underWay < self.capacity.underWay ? self.appointments.min?.due : nil }

    /// Indicates whether nothing is under way, and nothing due.
    func isIdle(at now: Milliseconds) -> Bool {
        self.underWay == 0 && self.appointments.min.map { now < $0.due } ?? true
    }

    // MARK: Changes

    /// Takes a message on. One for which there is no room, or whose callback is paused, has failed at once.
    @discardableResult
    mutating func add(_ message: CallbackMessage, at now: Milliseconds) -> Delivery {
        self.lastID += 1
        let delivery = Delivery(id: self.lastID, message: message, created: now)
        self.deliveries[delivery.id] = delivery
        self.bytes += message.size
        self.open += 1
        return self.schedule(delivery.id, at: now) ?? delivery
    }

    /// Sends a delivery once more that has ended.
    ///
    /// - Returns: `nil` when there is none.
    mutating func replay(_ id: UInt64, at now: Milliseconds) -> Delivery? {
        guard let index = self.ended.firstIndex(of: id) else { return nil }
        self.ended.remove(at: index)
        self.open += 1
        self.deliveries[id]?.attemptsInARow = 0
        return self.schedule(id, at: now)
    }

    /// Pauses a callback until it is resumed, or resumes it, also from a pause after many failures.
    mutating func setPaused(_ isPaused: Bool, callback id: String) {
        if isPaused {
            self.held.insert(id)
        } else {
            self.held.remove(id)
            self.pauses[id] = nil
        }
    }

    /// Returns why nothing is sent for a callback at this moment; `nil` when it is not paused.
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
        } else {
            return self.wait(id, until: now)
        }
    }

    @discardableResult
    private mutating func wait(_ id: UInt64, until due: Milliseconds) -> Delivery? {
        self.deliveries[id]?.state = .waiting
        self.deliveries[id]?.due = due
        self.appointments.insert(Appointment(due: due, id: id))
        return self.deliveries[id]
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

    /// Returns whether it matters what becomes of a delivery that ``takeDue(at:)`` returned.
    func awaits(_ delivery: Delivery) -> Bool {
        self.deliveries[delivery.id].map { $0.state == .underWay && $0.epoch == delivery.epoch } ?? false
    }

    /// Notes what became of a delivery that ``takeDue(at:)`` returned.
    @discardableResult
    mutating func finish(_ id: UInt64, _ outcome: Outcome, at now: Milliseconds) -> Delivery? {
        guard var delivery = self.deliveries[id], delivery.state == .underWay else { return nil }
        self.underWay -= 1
        delivery.attempts += 1
        delivery.attemptsInARow += 1
        delivery.outcome = outcome
        self.deliveries[id] = delivery
        if let callbackID = delivery.message.callbackID { self.note(outcome, of: callbackID, at: now) }
        if outcome.isSuccess {
            return self.end(id, .delivered, outcome)
        } else if delivery.attemptsInARow < delivery.message.maximumAttempts {
            return self.wait(id, until: now + RetrySchedule.pause(afterAttempt: delivery.attemptsInARow))
        } else {
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

    /// - Returns: The delivery as it ended, even if there is no room to keep it.
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

    /// Puts other deliveries in the place of these. Those that were under way wait again; numbers go on, so that none that
    /// is under way now is taken for a new one.
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

/// The pauses between the attempts of one delivery.
enum RetrySchedule {
    /// Two seconds after the first attempt, half as much again after each one more, 32 seconds at most.
    static func pause(afterAttempt attempt: Int) -> Milliseconds {
        var pause = 2000.0
        for _ in 1..<max(1, min(attempt, 16)) { pause *= 1.5 }
        return Milliseconds(min(pause, 32_000))
    }
}

/// Indicates whether a callback is left alone for a while, since it keeps failing.
struct FailurePause: Sendable {
    private static let threshold = 200
    private static let length: Milliseconds = 60_000

    private var failures = 0
    private var end: Milliseconds?

    /// Counts a failure. From the 200th in a row on, each begins a pause of a minute.
    mutating func fail(at now: Milliseconds) {
        self.failures = min(self.failures + 1, Self.threshold)
        if self.failures >= Self.threshold { self.end = now + Self.length }
    }

    func isPaused(at now: Milliseconds) -> Bool { self.end.map { now < $0 } ?? false }
}

extension CallbackMessage {
    /// About how many bytes it takes.
    fileprivate var size: Int { self.body.count + self.url.utf8.count + 256 }
}
