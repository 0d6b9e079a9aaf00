import Basics
import DecisionReceipts
import Foundation
import PowerAuthClient

struct SupervisedOperation: Sendable {
    enum Step: Sendable {
        case review
        case send(ApprovalAgent.Verdict)
        /// Resolve a decision with a lost response. Few operations have one, and it is large.
        indirect case resolve(LostDecisions)
    }

    private enum Phase: Sendable {
        /// The step may begin.
        case ready
        case waiting(until: Duration)
        case working(AgentSupervision.Job)
        /// Left to people until it changes.
        case left
        /// Settled permanently.
        case settled
    }

    private(set) var review: OperationReview
    private(set) var step = Step.review
    private var phase = Phase.ready
    /// The policy's deadline.
    private(set) var deadline: Duration?
    /// An abandoned policy that still runs.
    private(set) var abandonedPolicy: UInt64?
    /// Indicates whether the operation was decided here.
    private(set) var isDecided = false
    /// Indicates whether a decision's outcome cannot be determined. It is kept, so that the decision is never repeated.
    private var isUnknown = false
    private var listing = Listing.listed
    /// Indicates whether it changed since the work under way began.
    private var hasChanged = false
    /// The decisions whose evidence was lost while the operation was pending. Only its end can tell more.
    private var undetermined: [OpenDecision] = []
    private var (attempts, failures) = (0, 0)
    /// The end of the wait that the server asked for, even if another review comes first.
    private var notBefore = Duration.zero
    /// The position in the server's list, newest first.
    private var position: Int

    init(_ review: OperationReview, position: Int) {
        self.review = review
        self.position = position
    }

    /// Creates the state for an unresolved decision of a process that has ended. The operation may be listed later.
    init(_ decision: OpenDecision, until end: Duration) {
        let intent = decision.intent
        // The receipts identify the decided operation only by its digest.
        let operation = UserOperation(id: intent.operationID, name: "", data: "")
        self.init(OperationReview(of: operation, activationID: intent.activationID), position: 0)
        self.listing = .forgotten
        self.adopt(decision, until: end)
    }

    /// Adopts a decision without a recorded outcome: another process did not resolve it, or the store has lost it.
    ///
    /// Ignored while the operation has another job, and if nothing more can be learned: otherwise it would never be decided again.
    mutating func adopt(_ decision: OpenDecision, until end: Duration) {
        guard !self.isListed || !self.undetermined.contains(where: decision.isSame) else { return }
        let adopted = LostDecisions(adopting: decision, until: end, lifetime: self.operation.lifetime)
        guard case .resolve(var lost) = self.step, !self.isSettled else {
            if !self.isWorking { self.findOut(about: adopted) }
            return
        }
        let isNext = lost.add(adopted, isAsking: self.isWorking)
        self.step = .resolve(lost)
        if isNext { self.findOut(about: lost) }
    }

    private mutating func findOut(about lost: LostDecisions) {
        self.attempts = max(self.attempts, lost.decision.intent.attempt)
        (self.step, self.phase) = (.resolve(lost), .ready)
    }

    var operation: UserOperation { self.review.operation }
    private var isListed: Bool { if case .listed = self.listing { true } else { false } }

    // MARK: Standing

    var isReady: Bool { if case .ready = self.phase { true } else { false } }
    var isWorking: Bool { if case .working = self.phase { true } else { false } }
    var isLeft: Bool { if case .left = self.phase { true } else { false } }
    private var isSettled: Bool { if case .settled = self.phase { true } else { false } }
    /// Indicates whether there is work, now or later.
    var isOpen: Bool { !self.isLeft && !self.isSettled }
    /// Indicates whether a decision must be resolved before another signature.
    var holdsActivation: Bool { self.lost?.isTraced == false }
    /// Indicates whether a decision must be resolved now.
    var isReadyToResolve: Bool { self.lost != nil && self.isReady }
    /// The unresolved decisions.
    private var lost: LostDecisions? {
        if case .resolve(let lost) = self.step, !self.isSettled { lost } else { nil }
    }
    var waitsUntil: Duration? { if case .waiting(let time) = self.phase { time } else { nil } }

    /// The policy's job, while it is awaited.
    var reviewJob: AgentSupervision.Job? {
        guard case .working(let job) = self.phase, self.isInReview else { return nil }
        return job
    }
    private var isInReview: Bool { if case .review = self.step { true } else { false } }

    /// The job of a decision that is signed, in flight or being resolved.
    var decisionJob: AgentSupervision.Job? {
        guard case .working(let job) = self.phase, self.reviewJob == nil else { return nil }
        return job
    }

    var isDeciding: Bool { self.isWorking && !self.isInReview }

    func isWorking(on job: AgentSupervision.Job) -> Bool {
        if case .working(job) = self.phase { true } else { false }
    }

    /// Indicates whether the entry can be removed: unlisted, without a job and without an open decision.
    var isForgettable: Bool {
        !self.isListed && !self.isWorking && self.abandonedPolicy == nil && self.lost == nil && !self.isUnknown
    }

    /// Returns whether it comes before another operation of the activation.
    func comes(before other: Self) -> Bool {
        let (one, two) = (self.operation.created, other.operation.created)
        return one == two ? self.position > other.position : one < two
    }

    func event(of activationID: String, _ kind: ApprovalAgent.Event.Kind) -> ApprovalAgent.Event {
        ApprovalAgent.Event(activationID: activationID, operation: self.operation, kind: kind)
    }

    // MARK: The list

    /// Notes that it is listed, possibly changed.
    mutating func list(_ operation: UserOperation, position: Int) {
        (self.listing, self.position) = (.listed, position)
        guard operation != self.operation else { return }
        self.review = OperationReview(of: operation, activationID: self.review.activationID)
        self.hasChanged = true
        guard !self.isWorking, !self.isSettled, self.lost == nil else { return }
        self.reviewAnew()
    }

    /// Notes that it is no longer listed.
    ///
    /// - Returns: The thing to do about it.
    mutating func unlist(_ listing: Listing) -> [AgentSupervision.Action] {
        guard self.isListed else { return [] }
        self.listing = listing
        if let job = self.reviewJob { return [.cancel(job)] }
        if self.isLeft { return [.unlisted(self.operation.id, activationID: self.review.activationID)] }
        guard self.isOpen, !self.isWorking, self.lost == nil, let gone else { return [] }
        return [.report(self.event(of: self.review.activationID, gone))]
    }

    /// The event of an operation that is listed no more; `nil` of one that cannot be read any more, which has an event of its own.
    private var gone: ApprovalAgent.Event.Kind? { if case .unreadable = self.listing { nil } else { .gone } }

    /// Adopts its undetermined decisions when nothing else is to be done about an operation that has ended, since its end tells
    /// more. Without it their receipts would stay open until the process starts again.
    mutating func adoptUndetermined(at now: Duration) {
        guard case .gone = self.listing, self.isForgettable, !self.isDecided else { return }
        for decision in self.undetermined { self.adopt(decision, until: now) }
        self.undetermined = []
    }

    private mutating func reviewAnew() {
        self.step = .review
        // Not beside an abandoned policy that still runs.
        self.hasChanged = self.abandonedPolicy != nil
        self.phase = self.hasChanged ? .left : .ready
    }

    // MARK: Work

    mutating func begin(
        _ job: AgentSupervision.Job,
        at now: Duration,
        _ limits: AgentSupervision.Limits
    ) -> AgentSupervision.Action {
        self.phase = .working(job)
        switch self.step {
        case .review:
            self.hasChanged = false
            self.deadline = now + limits.policyDeadline.bounded
            return .review(job, self.review)
        case .send(let verdict):
            self.attempts += 1
            return .send(job, self.review, verdict, attempt: self.attempts)
        case .resolve(var lost):
            let (isOver, isLast) = lost.ask(at: now)
            self.step = .resolve(lost)
            return .resolve(job, lost.decision, isOver: isOver, isLast: isLast)
        }
    }

    mutating func leave() {
        self.abandonedPolicy = self.reviewJob?.number ?? self.abandonedPolicy
        self.deadline = nil
        self.phase = .left
    }

    /// Notes that the abandoned policy has returned.
    mutating func policyIsGone() {
        self.abandonedPolicy = nil
        if self.isLeft, self.hasChanged { self.reviewAnew() }
    }

    mutating func stopWaiting(at now: Duration) {
        guard let time = self.waitsUntil, time <= now else { return }
        self.phase = .ready
    }

    // MARK: Results

    /// Handles the policy's return.
    ///
    /// - Returns: `nil` if the operation is gone or has changed.
    mutating func judged(_ result: AgentSupervision.PolicyResult, at now: Duration) -> ApprovalAgent.Event.Kind? {
        self.deadline = nil
        guard self.isListed, !self.hasChanged else {
            self.reviewAnew()
            return nil
        }
        switch result {
        case .failed(let error):
            self.phase = .left
            return .left(.policyFailed(error))
        case .verdict(let verdict): return self.follow(verdict, at: now)
        }
    }

    /// The minimum delay for a policy that asks to be asked again, so that it is not asked in a tight loop.
    private static let shortestDelay = Duration.seconds(1)

    private mutating func follow(_ verdict: ApprovalAgent.Verdict, at now: Duration) -> ApprovalAgent.Event.Kind {
        switch verdict {
        case .approve, .reject:
            self.step = .send(verdict)
            self.phase = self.notBefore <= now ? .ready : .waiting(until: self.notBefore)
        case .deferToPeople(let reason):
            self.phase = .left
            return .left(.policy(reason))
        case .askAgain(let delay): self.phase = .waiting(until: now + max(Self.shortestDelay, delay).bounded)
        }
        return .judged(verdict)
    }

    /// Notes that the server carried out the decision.
    mutating func accepted(isInferred: Bool) -> ApprovalAgent.Event.Kind {
        (self.phase, self.isDecided) = (.settled, true)
        return .decided(self.verdict, isInferred: isInferred)
    }

    /// Notes that the latest signature got no response.
    ///
    /// - Parameter end: The time after which the signature cannot reach the server any more.
    mutating func lost(
        _ decision: OpenDecision,
        _ error: MobileTokenError,
        until end: Duration
    ) -> ApprovalAgent.Event.Kind {
        self.phase = .ready
        self.step = .resolve(LostDecisions(decision, error, until: end, lifetime: self.operation.lifetime))
        return .unanswered(error)
    }

    /// Handles a failed decision.
    ///
    /// - Returns: `nil` if it was not attempted either.
    mutating func failed(_ error: MobileTokenError, at now: Duration, random: Double) -> ApprovalAgent.Event.Kind? {
        switch DecisionFailure(error) {
        case .finished:
            self.phase = .settled
            return .finishedElsewhere(error)
        case .unusable:
            self.leave()
            if self.hasChanged { self.reviewAnew() }
            return .left(.notAuthorizable(error))
        case .final:
            self.phase = .settled
            return .refused(error)
        case .ofActivation:
            // It is sent when the activation resumes.
            self.phase = self.isListed ? .ready : .settled
            if self.isListed, self.hasChanged { self.reviewAnew() }
            return .refused(error)
        case .passing:
            guard self.isListed else {
                self.phase = .settled
                return self.gone
            }
            let event = self.retry(error, at: now, random: random)
            if self.hasChanged { self.reviewAnew() }
            return event
        case .paused: return self.heldBack()
        case .limited(let name):
            guard self.isListed else { return self.heldBack() }
            self.attempts -= 1
            self.leave()
            if self.hasChanged { self.reviewAnew() }
            return .left(.limitReached(name))
        }
    }

    /// Holds back a decision that was paused before it was signed.
    private mutating func heldBack() -> ApprovalAgent.Event.Kind? {
        guard self.isListed else {
            self.phase = .settled
            return self.gone
        }
        self.attempts -= 1
        self.phase = .ready
        if self.hasChanged { self.reviewAnew() }
        return nil
    }

    private mutating func retry(_ error: MobileTokenError, at now: Duration, random: Double) -> ApprovalAgent.Event.Kind
    {
        self.failures += 1
        self.notBefore = now + (error.retryAfter ?? .zero).believed
        let wait = max(PollSchedule.backoff(after: self.failures), self.notBefore - now)
        let spread = wait + wait / 10 * random
        self.phase = .waiting(until: now + spread)
        return .retrying(after: spread, error)
    }

    /// Handles the result of resolving a decision with a lost response.
    ///
    /// - Parameter isReleased: `true` if another process decides for the activation now.
    /// - Returns: `nil` if a later decision must be resolved.
    mutating func resolved(
        _ result: AgentSupervision.Resolution,
        isReleased: Bool,
        at now: Duration,
        random: Double
    ) -> ApprovalAgent.Event.Kind? {
        guard let result = self.conclusion(from: result) else { return nil }
        switch result {
        case .ours: return self.accepted(isInferred: true)
        case .elsewhere(let error):
            self.phase = .settled
            return .finishedElsewhere(error)
        case .unknown:
            self.phase = .settled
            self.isUnknown = true
            return .unknown
        // After a release, the other process adopts the open intent. Otherwise only a heartbeat is late and no other process
        // resolves it, so this one continues.
        case .failed(let error) where error.code == .notPolledHere && isReleased:
            self.phase = .settled
            return self.gone
        case .failed(let error): return self.retry(error, at: now, random: random)
        case .pending, .undetermined: return self.decideAgain(at: now, random: random)
        }
    }

    /// Returns the conclusion about all open decisions; `nil` if another one must be resolved now.
    private mutating func conclusion(from result: AgentSupervision.Resolution) -> AgentSupervision.Resolution? {
        guard case .resolve(var lost) = self.step else { return result }
        if case .undetermined = result, lost.isOver, self.isListed { self.undetermined.append(lost.decision) }
        let conclusion = lost.conclusion(from: result)
        if conclusion == nil { self.findOut(about: lost) } else { self.step = .resolve(lost) }
        return conclusion
    }

    /// The decision came to nothing, unless it is still on its way: then its fate is asked for once more when it cannot be.
    /// Until then the activation goes on with others, one of whose signatures makes that one worthless.
    private mutating func decideAgain(at now: Duration, random: Double) -> ApprovalAgent.Event.Kind? {
        guard case .resolve(var lost) = self.step else { return .unknown }
        guard lost.isOver else {
            lost.trace()
            let end = max(lost.end, now)
            (self.step, self.phase) = (.resolve(lost), .waiting(until: end))
            return .retrying(after: end - now, lost.error)
        }
        guard self.isListed, !self.isUnknown else {
            self.phase = .settled
            return self.isUnknown ? .unknown : self.gone
        }
        // A decision by a person, or by a process with another policy, is not this policy's verdict.
        self.step = lost.isAdopted ? .review : .send(.init(lost.decision.intent))
        let event = self.retry(lost.error, at: now, random: random)
        if self.hasChanged { self.reviewAnew() }
        return event
    }

    private var verdict: ApprovalAgent.Verdict {
        switch self.step {
        case .send(let verdict): verdict
        case .resolve(let lost): .init(lost.decision.intent)
        case .review: .deferToPeople
        }
    }
}
