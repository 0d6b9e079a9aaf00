package import MobileTokenErrors
package import MobileTokenObserving
import PowerAuthClient
package import PowerAuthProtocol

/// The state of one activation by its requests, and the next action. It decides; ``OperationsFleet`` opens, and ``PollingState``
/// polls and requests the status.
///
/// Polls cannot distinguish a refused token from a blocked activation, but the server's unsigned status can. So a refusal that
/// the status may explain causes a status request, and only the status is requested while an activation waits for an
/// administrator.
package struct ActivationCondition: Sendable {
    package enum Step: Equatable, Sendable {
        /// Open the activation, not before this time.
        case open(notBefore: Duration)
        /// Poll as the schedule says.
        case poll
        /// Request the status, not before this time.
        case askStatus(notBefore: Duration)
        /// No action can help.
        case end
    }

    /// The interval between status requests before the server commits, which grows by half each time.
    package static let commitWait = (first: Duration.seconds(5), longest: Duration.seconds(60))
    /// The interval between status requests for a fleet's blocked activation.
    package static let blockedWait = Duration.seconds(300)
    /// The minimum interval between status requests after refused polls.
    package static let doubtWait = Duration.seconds(60)
    /// The interval between attempts to open an activation.
    package static let openingWait = (first: Duration.seconds(1), longest: Duration.seconds(60))

    package private(set) var state = OperationsFleet.ActivationState(.starting)
    /// The time of the last successful poll.
    package private(set) var lastSuccess: Duration?
    /// The number of unreadable operations in the last list.
    package private(set) var unreadableCount = 0
    package private(set) var isOpened = false
    /// The interval between status requests while the activation is blocked.
    package var blockedWait = Self.blockedWait
    /// The time of the phase's next attempt.
    private var notBefore = Duration.zero
    /// The interval between the phase's attempts, if it grows.
    private var wait = Duration.zero
    /// Indicates whether the status must be requested although the activation is polled.
    private var isDoubtful = false
    private var lastStatus: Duration?
    /// Indicates whether the counters were compared since opening. A store restored from a backup looks like any other.
    package private(set) var isCompared = false

    package init() {}

    /// The condition of an open activation with no further information.
    package static var opened: Self {
        var condition = Self()
        condition.recordOpening()
        return condition
    }

    package func step(at now: Duration) -> Step {
        guard !self.state.phase.isEnded else { return .end }
        guard self.isOpened else { return .open(notBefore: self.notBefore) }
        if self.state.phase.isWaiting { return .askStatus(notBefore: self.notBefore) }
        return self.isDoubtful && self.mayAskStatus(at: now) ? .askStatus(notBefore: now) : .poll
    }

    /// Returns whether a status request must precede the next poll.
    package func comparesFirst(at now: Duration) -> Bool { !self.isCompared && self.mayAskStatus(at: now) }

    private func mayAskStatus(at now: Duration) -> Bool { self.lastStatus.map { $0 + Self.doubtWait <= now } ?? true }

    // MARK: Opening

    package mutating func recordOpening() {
        self.isOpened = true
        (self.notBefore, self.wait) = (.zero, .zero)
    }

    package mutating func recordOpeningFailure(_ error: MobileTokenError, at now: Duration) {
        guard !self.ends(with: error) else { return }
        self.wait = self.grown(Self.openingWait)
        self.notBefore = now + self.wait
        self.state = OperationsFleet.ActivationState(self.state.phase, reason: error)
    }

    // MARK: Polling

    package mutating func recordPoll(at now: Duration, unreadable: Int = 0) {
        guard !self.state.phase.isEnded else { return }
        self.unreadableCount = unreadable
        self.lastSuccess = now
        self.isDoubtful = false
        self.become(.active)
    }

    /// Handles the failure of a poll, or of another authenticated request.
    package mutating func recordFailure(_ error: MobileTokenError, at now: Duration) {
        guard !self.state.phase.isEnded, !self.ends(with: error) else { return }
        switch error.code {
        case .activationPending: self.awaitCommit(error, at: now)
        case .activationBlocked: self.beBlocked(error, at: now)
        case .invalidActivation, .activationFailed, .authenticationFailed, .refusalUnproven:
            self.isDoubtful = true
            fallthrough
        default: self.state = OperationsFleet.ActivationState(self.state.phase, reason: error)
        }
    }

    // MARK: The status

    /// Handles a status response.
    package mutating func recordStatus(
        _ state: ActivationState,
        _ counter: CounterComparison.Result,
        at now: Duration
    ) {
        guard !self.state.phase.isEnded else { return }
        // After a comparison at the start, a later doubt may still cause a status request at once.
        if self.isDoubtful || self.state.phase.isWaiting { self.lastStatus = now }
        self.isDoubtful = false
        self.isCompared = true
        switch (state, counter) {
        case (.removed, _):
            self.become(.removed, MobileTokenError(.activationRemoved, "The activation was removed from the server"))
        case (_, .deadlock):
            self.become(
                .deadlocked,
                MobileTokenError(.deadlock, "The counters of client and server are too far apart")
            )
        case (_, .rolledBack):
            self.become(.rolledBack, MobileTokenError(.stateRolledBack, "The store was restored from an old backup"))
        case (.created, _), (.pendingCommit, _):
            let reason = MobileTokenError(.activationPending, "The server has not committed the activation")
            self.awaitCommit(reason, at: now)
        case (.blocked, _):
            self.beBlocked(MobileTokenError(.activationBlocked, "The activation is blocked"), at: now)
        case (.active, _):
            if self.state.phase.isWaiting { self.become(.active) }
        }
    }

    /// Handles a failed status request.
    package mutating func recordStatusFailure(_ error: MobileTokenError, at now: Duration) {
        guard !self.state.phase.isEnded, !self.ends(with: error) else { return }
        self.lastStatus = now
        let wait = max(self.wait, Self.commitWait.first, (error.retryAfter ?? .zero).believed)
        self.notBefore = now + wait
        if !self.state.phase.isWaiting { self.state = OperationsFleet.ActivationState(self.state.phase, reason: error) }
    }

    // MARK: Phases

    private mutating func become(_ phase: OperationsFleet.ActivationState.Phase, _ reason: MobileTokenError? = nil) {
        self.state = OperationsFleet.ActivationState(phase, reason: reason)
        (self.notBefore, self.wait) = (.zero, .zero)
    }

    private mutating func awaitCommit(_ reason: MobileTokenError, at now: Duration) {
        if self.state.phase != .awaitingCommit { self.become(.awaitingCommit, reason) }
        self.wait = self.grown(Self.commitWait)
        self.notBefore = now + self.wait
    }

    private mutating func beBlocked(_ reason: MobileTokenError, at now: Duration) {
        self.become(.blocked, reason)
        self.wait = self.blockedWait
        self.notBefore = now + self.wait
    }

    private func grown(_ range: (first: Duration, longest: Duration)) -> Duration {
        min(max(self.wait * 1.5, range.first), range.longest)
    }

    /// Ends the activation's polling if the error is permanent.
    private mutating func ends(with error: MobileTokenError) -> Bool {
        guard let phase = OperationsFleet.ActivationState.Phase(endingWith: error) else { return false }
        self.become(phase, error)
        return true
    }
}

extension OperationsFleet.ActivationState.Phase {
    /// The phase in which an error ends; `nil` if it is temporary.
    init?(endingWith error: MobileTokenError) {
        switch error.code {
        case .unknownActivation, .activationRemoved: self = .removed
        case .deadlock: self = .deadlocked
        case .stateRolledBack: self = .rolledBack
        case .storeCorrupted, .storeFromFuture, .cryptographyFailed: self = .unreadable
        // Permissions, and a database that refuses a role, can be fixed while processes run.
        case .invalidConfiguration, .storeWrongSealingKey, .storeSealingKeyMissing: self = .misconfigured
        default: return nil
        }
    }
}
