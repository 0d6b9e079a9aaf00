package import Basics
import Coordination
package import DecisionReceipts

/// An agent's operations, their order, and the consequence of each result. It decides; ``ApprovalAgent`` asks the policy, signs,
/// reads the clock and reports back.
///
/// - Each activation's operations run one at a time, oldest first, and at most ``Limits/maximumConcurrency`` across activations.
///   Only listed operations wait.
/// - An operation that waits (for a retry, or at its policy's request) lets the others of its activation pass. One with a lost
///   response does not: another signature would destroy the evidence of its outcome.
/// - A verdict applies to the operation that the policy saw. If the operation changes, the policy is asked again.
/// - A decision is not retried if the server refused it permanently, the operation was decided elsewhere, or the outcome cannot
///   be determined.
///
/// Times are durations since a fixed moment.
package struct AgentSupervision: Sendable {
    package struct Limits: Sendable {
        /// The maximum number of operations in progress.
        package var maximumConcurrency = 16
        package var policyDeadline = Duration.seconds(30)
        /// The longest time until a sent request may still reach the server.
        package var requestTimeout = Duration.seconds(20)
        /// The interval between status requests for a stopped activation.
        package var lookInterval = Duration.seconds(5 * 60)
        /// The interval at which one more signature is spent with an activation that has lost signatures.
        package var trialInterval = Duration.seconds(60 * 60)
        /// Indicates whether the policy is asked about incomplete operations.
        package var reviewsIncomplete = false

        package init() {}
    }

    package struct Job: Hashable, Sendable {
        package let number: UInt64
        package let activationID: String
        package let operationID: String
    }

    /// An action for the agent. Report its result with the function named;
    /// ``cancel(_:)``, ``unlisted(_:activationID:)`` and ``report(_:)`` have none.
    package enum Action: Sendable {
        /// Ask the policy; then ``policyReturned(_:from:at:)``.
        case review(Job, OperationReview)
        /// Sign and send a decision; then ``sent(_:by:at:random:)``.
        case send(Job, OperationReview, ApprovalAgent.Verdict, attempt: Int)
        /// Determine the outcome of a decision with a lost response; then
        /// ``resolved(_:by:at:random:)``. If `isOver`, its request can no longer reach the server. If `isLast`, the operation has
        /// also expired, and a request answered by a proxy is not repeated.
        case resolve(Job, OpenDecision, isOver: Bool, isLast: Bool)
        /// Request the status of a stopped activation; then ``looked(at:isWell:at:)``.
        case look(String)
        /// Stop waiting for a policy.
        case cancel(Job)
        /// An operation left to people is no longer listed for an activation.
        case unlisted(String, activationID: String)
        case report(ApprovalAgent.Event)
    }

    package let limits: Limits

    var activations: [ExactString: SupervisedActivation] = [:]
    /// The queue of activations that may have work.
    private var queue = FIFO<ExactString>()
    private var alarms = Heap<Alarm>()
    private var alarmLimit = 64
    private var lastJob: UInt64 = 0
    /// Indicates whether new work is paused.
    package private(set) var isPaused = false
    /// Indicates whether ``shutDown()`` was called.
    package private(set) var isShutDown = false

    package private(set) var jobCount = 0
    /// The recently decided operations, which an old or replayed list may contain again.
    private(set) var decided = DecidedOperations()
    /// The number of sent decisions with an unknown outcome.
    package internal(set) var unknownCount = 0

    package init(_ limits: Limits = Limits()) {
        self.limits = limits
    }

    /// A time at which an operation may have work.
    private struct Alarm: Comparable {
        let time: Duration
        let activationID: ExactString
        /// The operation; `nil` for a check of the activation.
        let operationID: ExactString?

        static func < (one: Self, other: Self) -> Bool { one.time < other.time }
        static func == (one: Self, other: Self) -> Bool { one.time == other.time }
    }
}

// MARK: - Lists

extension AgentSupervision {
    /// The operations of an activation that wait for a decision are these, and no others.
    ///
    /// - Parameter unreadable: The operations that are listed in a form that cannot be read any more. They are not gone.
    package mutating func list(
        _ operations: [UserOperation],
        unreadable: Set<ExactString> = [],
        of activationID: String,
        at now: Duration
    ) -> [Action] {
        let pending = operations.filter { $0.status == .pending }
        return self.update(activationID, at: now) { $0.list(pending, unreadable: unreadable, at: now) }
    }

    private mutating func update(
        _ activationID: String,
        at now: Duration,
        _ change: (inout SupervisedActivation) -> [Action]
    ) -> [Action] {
        let id = ExactString(activationID)
        // In its place: a copy would be one of all its operations.
        let actions = change(&self.activations[id, default: SupervisedActivation(activationID)])
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
        return actions + self.begin(at: now)
    }

    /// Adopts unresolved decisions of an earlier process. Call it before the first ``list(_:of:at:)``: nothing else is signed
    /// with the activation until they are resolved.
    ///
    /// - Parameter decisions: Each with the time within which its request may still reach the server.
    package mutating func adopt(
        _ decisions: [(decision: OpenDecision, timeLeft: Duration)],
        of activationID: String,
        at now: Duration
    ) -> [Action] {
        let id = ExactString(activationID)
        self.activations[id]?.isReleased = false
        // Of several attempts at one operation the last one counts; the others are resolved after it.
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

    /// Releases an activation: another process may decide for it until this one adopts its open decisions again.
    ///
    /// After the release, a refused question leaves an open decision to the other process. Before it, the question is repeated.
    package mutating func release(_ activationID: String, at now: Duration) -> [Action] {
        self.activations[ExactString(activationID)]?.isReleased = true
        return self.forget(activationID, at: now)
    }

    /// Ends all work with an activation that has ended.
    package mutating func forget(_ activationID: String, at now: Duration) -> [Action] {
        self.update(activationID, at: now) { $0.forget(at: now) }
    }

    /// Sets whether decisions with an activation are on hold, as while it is blocked, not committed, or ended.
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
    /// Stops new work until ``resume(at:)``. Sent decisions are still resolved.
    package mutating func pause() { self.isPaused = true }

    package mutating func resume(at now: Duration) -> [Action] {
        self.isPaused = false
        for id in self.activations.keys { self.lineUp(id) }
        return self.begin(at: now)
    }

    /// Stops all new work, and abandons policies.
    package mutating func shutDown() -> [Action] {
        self.isShutDown = true
        return self.activations.values.compactMap { activation in
            activation.work.flatMap { activation[$0]?.reviewJob }.map { .cancel($0) }
        }
    }

    /// The jobs of decisions that are signed, in flight or being resolved.
    var decisionsUnderWay: [Job] {
        self.activations.values.compactMap { activation in
            activation.work.flatMap { activation[$0]?.decisionJob }
        }
    }

    package struct Counts: Sendable {
        /// Listed operations that are neither left nor settled.
        package internal(set) var open = 0
        /// Operations left to people.
        package internal(set) var left = 0
        /// Decisions that are signed, in flight or being resolved.
        package internal(set) var deciding = 0
    }

    /// The numbers of operations, from one look at each.
    package var counts: Counts { self.activations.values.reduce(into: Counts()) { $1.add(to: &$0) } }

    /// The numbers of known activations and of alarms, for tests.
    package var activationCount: Int { self.activations.count }
    package var alarmCount: Int { self.alarms.count }
}

// MARK: - Time

extension AgentSupervision {
    /// The latest time for the next ``wake(at:)``; `nil` if nothing is timed.
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

    /// Begins overdue work, and abandons slow policies.
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
            self.end(job, at: now) { $0.leave() }
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
    /// Removes obsolete alarms. Most policies return long before their deadlines, so these would pile up.
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

    /// Begins as many jobs as the limits allow.
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

    /// Ends a job, if it is still the operation's current one.
    ///
    /// - Returns: The updated operation, if the job was its current one.
    @discardableResult
    mutating func end(
        _ job: Job,
        at now: Duration,
        _ change: (inout SupervisedOperation) -> Void
    ) -> SupervisedOperation? {
        let (id, operationID) = (ExactString(job.activationID), ExactString(job.operationID))
        guard var entry = self.activations[id]?[operationID], entry.isWorking(on: job) else { return nil }
        self.jobCount -= 1
        change(&entry)
        if entry.isDecided { self.decided.insert(operationID, of: id) }
        if let time = entry.waitsUntil { self.setAlarm(at: time, job.activationID, job.operationID) }
        self.activations[id]?.work = nil
        self.keep(entry, as: operationID, of: id, at: now)
        return entry
    }

    /// Keeps the operation, unless nothing is left to be done about it.
    mutating func keep(_ entry: SupervisedOperation, as operationID: ExactString, of id: ExactString, at now: Duration)
    {
        var entry = entry
        entry.adoptUndetermined(at: now)
        self.activations[id]?[operationID] = entry.isForgettable ? nil : entry
        if self.activations[id]?.isEmpty == true { self.activations[id] = nil }
        self.lineUp(id)
    }
}
