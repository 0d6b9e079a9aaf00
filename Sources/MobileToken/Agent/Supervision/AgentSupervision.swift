import Basics
import Coordination
package import PowerAuth

/// The operations that an agent works on, in which order, and what follows from each result. It decides; ``ApprovalAgent`` asks
/// the policy, signs, reads the clock and reports back.
///
/// - Within an activation one operation after the other is worked on, the oldest first; across activations at most
///   ``Limits/maximumConcurrency`` at once. What waits is never more than the operations that are listed.
/// - An operation that waits (for a retry, or because its policy said so) lets the others of its activation pass. One whose
///   answer was lost does not: another signature would wipe out the trace by which its fate is found out.
/// - A verdict holds for the operation as the policy saw it. When the operation changes, the policy is asked again.
/// - What the server refused for good, what somebody else decided and what nobody can find out is not tried again.
///
/// Times are durations since one fixed moment.
package struct AgentSupervision: Sendable {
    package struct Limits: Sendable {
        /// The number of operations that are worked on at once.
        package var maximumConcurrency = 16
        /// The time that a policy may take.
        package var policyDeadline = Duration.seconds(30)
        /// The longest time after which a request that was sent may still reach the server.
        package var requestTimeout = Duration.seconds(20)
        /// The time after which the status of a stopped activation is asked for again.
        package var lookInterval = Duration.seconds(5 * 60)
        /// Indicates whether the policy is asked about operations that are not complete.
        package var reviewsIncomplete = false

        package init() {}
    }

    /// A piece of work that was begun.
    package struct Job: Hashable, Sendable {
        package let number: UInt64
        package let activationID: String
        package let operationID: String
    }

    /// A thing to do. When it is done, its function has to be called; ``cancel(_:)``, ``unlisted(_:activationID:)`` and
    /// ``report(_:)`` have none.
    package enum Action: Sendable {
        /// Ask the policy; then ``policyReturned(_:from:at:)``.
        case review(Job, OperationReview)
        /// Sign and send a decision; then ``sent(_:by:at:random:)``.
        case send(Job, OperationReview, ApprovalAgent.Verdict, attempt: Int)
        /// Find out what became of a decision whose answer was lost; then ``resolved(_:by:at:random:)``. When `isOver`, the
        /// request cannot arrive at the server any more. When `isLast`, the operation's time is over too: a question that somebody
        /// else answers in the server's place is not asked again.
        case resolve(Job, OpenDecision, isOver: Bool, isLast: Bool)
        /// Ask for the status of a stopped activation; then ``looked(at:isWell:at:)``.
        case look(String)
        /// A policy's answer is not waited for any more.
        case cancel(Job)
        /// An operation of an activation that was left to people is not listed any more.
        case unlisted(String, activationID: String)
        case report(ApprovalAgent.Event)
    }

    package let limits: Limits

    var activations: [ExactString: SupervisedActivation] = [:]
    /// Activations that may have something to begin, in turn.
    private var queue = FIFO<ExactString>()
    private var alarms = Heap<Alarm>()
    private var alarmLimit = 64
    private var lastJob: UInt64 = 0
    /// Indicates whether nothing more is begun for now.
    package private(set) var isPaused = false
    /// Indicates whether ``shutDown()`` was called.
    package private(set) var isShutDown = false

    /// The number of operations that are worked on now.
    package private(set) var jobCount = 0
    /// The number of decisions that were sent and whose outcome is unknown.
    package internal(set) var unknownCount = 0

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// A time at which an operation may have something to do.
    private struct Alarm: Comparable {
        let time: Duration
        let activationID: ExactString
        /// `nil`: the activation is looked at again.
        let operationID: ExactString?

        static func < (one: Self, other: Self) -> Bool { one.time < other.time }
        static func == (one: Self, other: Self) -> Bool { one.time == other.time }
    }
}

// MARK: - What is listed

extension AgentSupervision {
    /// The operations of an activation that wait for a decision are these, and no others.
    package mutating func list(_ operations: [UserOperation], of activationID: String, at now: Duration) -> [Action] {
        let id = ExactString(activationID)
        var activation = self.activations[id] ?? SupervisedActivation(activationID)
        let actions = activation.list(operations.filter { $0.status == .pending })
        self.activations[id] = activation.isEmpty ? nil : activation
        self.lineUp(id)
        return actions + self.begin(at: now)
    }

    /// An earlier process has sent these decisions and did not find out what became of them. Call it before the first
    /// ``list(_:of:at:)``: nothing else is signed with the activation until that is known.
    ///
    /// - Parameter decisions: Each with the time in which its request may still reach the server.
    package mutating func adopt(
        _ decisions: [(decision: OpenDecision, timeLeft: Duration)],
        of activationID: String,
        at now: Duration
    ) -> [Action] {
        let id = ExactString(activationID)
        self.activations[id]?.isReleased = false
        // Of several attempts at one operation the last one counts; the others are found out about after it.
        for open in decisions.sorted(by: { $0.decision.moves > $1.decision.moves }) {
            let operationID = ExactString(open.decision.intent.operationID)
            let end = now + open.timeLeft.bounded
            if self.activations[id]?[operationID]?.adopt(open.decision, until: end) == nil {
                self.activations[id, default: SupervisedActivation(activationID)][operationID] =
                    SupervisedOperation(open.decision, until: end)
            }
        }
        self.lineUp(id)
        return self.begin(at: now)
    }

    /// Another process may decide for an activation from now on, until this one adopts what is open again.
    ///
    /// Open decisions are left to that process once a question of this one is refused. Before the release, a question that is refused
    /// is asked again.
    package mutating func release(_ activationID: String, at now: Duration) -> [Action] {
        self.activations[ExactString(activationID)]?.isReleased = true
        return self.forget(activationID, at: now)
    }

    /// An activation has ended: what was begun with it ends, and nothing more is begun.
    package mutating func forget(_ activationID: String, at now: Duration) -> [Action] {
        self.list([], of: activationID, at: now)
    }

    /// Sets whether anything may be decided with an activation now: not while it is blocked, not committed, or ended.
    package mutating func setHeld(_ isHeld: Bool, _ activationID: String, at now: Duration) -> [Action] {
        let id = ExactString(activationID)
        self.activations[id, default: SupervisedActivation(activationID)].isHeld = isHeld
        if !isHeld, self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
        return self.begin(at: now)
    }
}

// MARK: - The whole

extension AgentSupervision {
    /// Begins nothing more until ``resume(at:)``. What was sent is still brought to its end.
    package mutating func pause() { self.isPaused = true }

    package mutating func resume(at now: Duration) -> [Action] {
        self.isPaused = false
        for id in self.activations.keys { self.lineUp(id) }
        return self.begin(at: now)
    }

    /// Begins nothing more at all, and lets go of policies.
    package mutating func shutDown() -> [Action] {
        self.isShutDown = true
        return self.activations.values.compactMap { activation in
            activation.work.flatMap { activation[$0]?.reviewJob }.map { .cancel($0) }
        }
    }

    /// The number of decisions that are signed or on their way.
    package var decisionsInFlight: Int { self.decisionsUnderWay.count }

    /// The work on decisions that are signed, on their way or being found out about.
    var decisionsUnderWay: [Job] {
        self.activations.values.compactMap { activation in
            activation.work.flatMap { activation[$0]?.decisionJob }
        }
    }

    /// The number of operations that are listed and neither left nor settled.
    package var openCount: Int { self.activations.values.reduce(0) { $0 + $1.openCount } }

    /// The number of activations that nothing more is decided with.
    package var stoppedCount: Int { self.stopReasons.count }

    /// The number of activations that something is known of, and of alarms that are set: for tests.
    package var activationCount: Int { self.activations.count }
    package var alarmCount: Int { self.alarms.count }

    /// The number of operations that are left to people.
    package var leftCount: Int { self.activations.values.reduce(0) { $0 + $1.leftCount } }
}

// MARK: - Time

extension AgentSupervision {
    /// The time to call ``wake(at:)`` next, at the latest; `nil` when nothing waits for a time.
    package mutating func nextWakeUp() -> Duration? {
        while let alarm = self.alarms.min, !self.isOf(alarm) { self.alarms.removeMin() }
        return self.alarms.min?.time
    }

    private func isOf(_ alarm: Alarm) -> Bool {
        let activation = self.activations[alarm.activationID]
        guard let operationID = alarm.operationID else { return activation?.stop?.nextLook == alarm.time }
        guard let entry = activation?[operationID] else { return false }
        return entry.deadline == alarm.time || entry.waitsUntil == alarm.time
    }

    /// Begins what has waited long enough, and gives up policies that take too long.
    package mutating func wake(at now: Duration) -> [Action] {
        var actions: [Action] = []
        while let alarm = self.alarms.min, alarm.time <= now {
            self.alarms.removeMin()
            actions += self.ring(alarm, at: now)
        }
        return actions + self.begin(at: now)
    }

    private mutating func ring(_ alarm: Alarm, at now: Duration) -> [Action] {
        guard let operationID = alarm.operationID else {
            guard self.isOf(alarm) else { return [] }
            self.activations[alarm.activationID]?.stop?.nextLook = nil
            return [.look(alarm.activationID.string)]
        }
        guard let entry = self.activations[alarm.activationID]?[operationID] else { return [] }
        if let job = entry.reviewJob, let deadline = entry.deadline, deadline <= now {
            self.end(job) { $0.leave() }
            return [.cancel(job), .report(entry.event(of: alarm.activationID.string, .left(.policyTooSlow)))]
        }
        self.activations[alarm.activationID]?[operationID]?.stopWaiting(at: now)
        self.lineUp(alarm.activationID)
        return []
    }

    mutating func setAlarm(at time: Duration, _ activationID: String, _ operationID: String?) {
        if self.alarms.count >= self.alarmLimit { self.dropOldAlarms() }
        self.alarms.insert(
            Alarm(
                time: time,
                activationID: ExactString(activationID),
                operationID: operationID.map { ExactString($0) }
            )
        )
    }
}

extension AgentSupervision {
    /// Most policies return long before their deadlines, whose alarms must not pile up.
    private mutating func dropOldAlarms() {
        let kept = self.alarms.filter { self.isOf($0) }
        self.alarms = Heap(kept)
        self.alarmLimit = max(64, 2 * kept.count)
    }
}

// MARK: - Beginning

extension AgentSupervision {
    mutating func lineUp(_ id: ExactString) {
        guard let activation = self.activations[id], !activation.isInLine,
            activation.next(isPaused: self.isPaused) != nil
        else {
            return
        }
        self.activations[id]?.isInLine = true
        self.queue.append(id)
    }

    /// Begins as much as the limits allow.
    mutating func begin(at now: Duration) -> [Action] {
        var actions: [Action] = []
        while !self.isShutDown, self.jobCount < max(1, self.limits.maximumConcurrency), let id = self.queue.popFirst() {
            self.activations[id]?.isInLine = false
            actions += self.beginNext(of: id, at: now)
        }
        return actions
    }

    private mutating func beginNext(of id: ExactString, at now: Duration) -> [Action] {
        guard let operationID = self.activations[id]?.next(isPaused: self.isPaused),
            var entry = self.activations[id]?[operationID]
        else { return [] }
        if case .review = entry.step, !entry.review.isComplete, !self.limits.reviewsIncomplete {
            entry.leave()
            self.activations[id]?[operationID] = entry
            self.lineUp(id)
            return [.report(entry.event(of: id.string, .left(.incomplete(entry.review.doubts))))]
        }
        self.lastJob += 1
        self.jobCount += 1
        let job = Job(number: self.lastJob, activationID: id.string, operationID: operationID.string)
        let action = entry.begin(job, at: now, self.limits)
        self.activations[id]?[operationID] = entry
        self.activations[id]?.work = operationID
        if let deadline = entry.deadline { self.setAlarm(at: deadline, job.activationID, job.operationID) }
        return [action]
    }

    /// Ends a job, as far as it is still the one that its operation is about.
    ///
    /// - Returns: The rest of the operation, if the job was its present one.
    @discardableResult
    mutating func end(_ job: Job, _ change: (inout SupervisedOperation) -> Void) -> SupervisedOperation? {
        let (id, operationID) = (ExactString(job.activationID), ExactString(job.operationID))
        guard var entry = self.activations[id]?[operationID], entry.isWorking(on: job) else { return nil }
        self.jobCount -= 1
        change(&entry)
        if let time = entry.waitsUntil { self.setAlarm(at: time, job.activationID, job.operationID) }
        self.activations[id]?.work = nil
        self.activations[id]?[operationID] = entry.isForgettable ? nil : entry
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
        return entry
    }
}
