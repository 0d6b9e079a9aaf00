import ExactJSON
import MobileToken

/// The answer of `/health` and `/ready`: the problems that ask for a person.
struct HealthReport: Sendable {
    /// The kinds of problems. The names are part of the answer, and never change their meaning.
    enum Reason: String, Sendable, CaseIterable {
        /// The agent has not begun, or has ended.
        case notRunning
        /// SIGTERM or SIGINT came.
        case shuttingDown
        /// Nothing has reported for a while: the process is stuck.
        case stale
        /// No activation can decide.
        case noActiveActivation
        /// An activation has not been polled yet.
        case starting
        /// An activation was not polled successfully for too long: the bank is away, or too slow.
        case bankAway
        /// An activation ended or its factors are wrong; nothing more is decided with it.
        case activationStopped
        /// An activation is blocked, or was not committed.
        case activationWaiting
        /// Nobody can find out what became of a decision.
        case decisionUnknown
        /// The bank lists an operation that cannot be read, so that nobody decides it.
        case operationUnreadable
        /// The local clock and the bank's disagree.
        case clockSkewed
        /// Decisions are held back.
        case decidingPaused
        /// The store was restored, and limits are closed until their windows have passed.
        case limitsClosed
    }

    private(set) var reasons: [Reason] = []
    private let agent: ApprovalAgent.Health?

    /// Judges what an agent says of itself.
    ///
    /// - Parameters:
    ///   - agent: `nil` before it has said anything.
    ///   - maximumPollAge: The longest time that may have passed since the last poll of an active activation.
    ///   - isYoung: `true` if the daemon has just begun, so that there may be activations which were not found yet.
    ///   - isShuttingDown: `true` if the daemon was told to end.
    init(_ agent: ApprovalAgent.Health?, maximumPollAge: Duration, isYoung: Bool, isShuttingDown: Bool) {
        self.agent = agent
        let fleet = agent?.fleet
        let counts = fleet?.counts ?? [:]
        func count(_ phases: OperationsFleet.ActivationState.Phase...) -> Int {
            phases.reduce(0) { $0 + (counts[$1] ?? 0) }
        }
        let ended = counts.filter { $0.key.isEnded }.values.reduce(0, +)
        let checks: [(Reason, Bool)] = [
            (.notRunning, agent?.isRunning != true && !isShuttingDown),
            (.shuttingDown, isShuttingDown),
            (.noActiveActivation, count(.active, .starting) == 0 && !(isYoung && counts.isEmpty)),
            (.starting, count(.starting) > 0 || isYoung && counts.isEmpty),
            (.bankAway, fleet?.oldestSuccessfulPoll.map { $0 > maximumPollAge } ?? false),
            (.activationStopped, (agent?.stoppedActivationCount ?? 0) > 0 || ended > 0),
            (.activationWaiting, count(.blocked, .awaitingCommit) > 0),
            (.decisionUnknown, (fleet?.decisionsUnknown ?? 0) > 0),
            (.operationUnreadable, (fleet?.unreadable ?? 0) > 0),
            (.clockSkewed, fleet?.isClockSkewed ?? false),
            (.decidingPaused, agent?.isDecidingPaused ?? false),
            (.limitsClosed, agent?.areLimitsClosed ?? false),
        ]
        self.reasons = checks.filter(\.1).map(\.0)
    }

    /// The same, from a process that is stuck.
    var stale: Self {
        var report = self
        report.reasons.insert(.stale, at: 0)
        return report
    }

    var isHealthy: Bool { self.reasons.isEmpty }

    /// Indicates whether the daemon has come up and works, however well: no restart would fix its other problems.
    var isReady: Bool {
        self.reasons.allSatisfy { ![.notRunning, .shuttingDown, .stale, .starting].contains($0) }
    }

    /// The answer's body.
    var json: [UInt8] {
        var members: JSONObject = [
            "status": .string(self.isHealthy ? "ok" : "unwell"),
            "reasons": .array(self.reasons.map { .string($0.rawValue) }),
        ]
        if let agent {
            let fleet = agent.fleet
            members["activations"] = .counts(fleet.counts)
            members["stopReasons"] = .counts(agent.stopReasons)
            members["openOperations"] = .integer(agent.openOperationCount)
            members["leftOperations"] = .integer(agent.leftOperationCount)
            members["decisionsInFlight"] = .integer(fleet.decisionsInFlight)
            members["decisionsUnknown"] = .integer(fleet.decisionsUnknown)
            members["unreadable"] = .integer(fleet.unreadable)
            members["oldestSuccessfulPollSeconds"] = fleet.oldestSuccessfulPoll.map { .seconds($0) }
            members["lastFailure"] = fleet.lastFailure.map { .failure($0) }
        }
        return JSONValue.object(members).serialized() + [UInt8(ascii: "\n")]
    }

    /// Sets the gauges that the report is made of.
    func measure(in metrics: MetricsRegistry) {
        metrics.set("approval_daemon_healthy", self.isHealthy ? 1 : 0)
        metrics.set("approval_daemon_ready", self.isReady ? 1 : 0)
        guard let agent, case let fleet = agent.fleet else { return }
        metrics.clear("approval_daemon_stopped_activations")
        for (reason, count) in agent.stopReasons {
            metrics.set("approval_daemon_stopped_activations", Double(count), ("reason", reason.description))
        }
        metrics.clear("approval_daemon_activations")
        for (phase, count) in fleet.counts {
            metrics.set("approval_daemon_activations", Double(count), ("phase", phase.description))
        }
        metrics.set("approval_daemon_oldest_poll_seconds", (fleet.oldestSuccessfulPoll ?? .zero) / .seconds(1))
        metrics.set("approval_daemon_decisions_in_flight", Double(fleet.decisionsInFlight))
        metrics.set("approval_daemon_decisions_unknown", Double(fleet.decisionsUnknown))
        metrics.set("approval_daemon_operations_unreadable", Double(fleet.unreadable))
        metrics.set("approval_daemon_clock_skew_seconds", fleet.clockSkew / .seconds(1))
    }
}

extension JSONValue {
    fileprivate static func integer(_ value: Int) -> Self { .number(JSONNumber(value)) }

    fileprivate static func seconds(_ duration: Duration) -> Self {
        .integer(Int(clamping: duration.components.seconds))
    }

    fileprivate static func counts(_ counts: [some CustomStringConvertible: Int]) -> Self {
        let members = counts.map { JSONObject.Member(key: $0.key.description, value: .integer($0.value)) }
        return .object(JSONObject(members.sorted { $0.key < $1.key }))
    }

    fileprivate static func failure(_ failure: OperationsFleet.Health.Failure) -> Self {
        var members: JSONObject = [
            "error": .string(failure.error.description), "ageSeconds": .seconds(failure.age),
            "isOver": .bool(failure.isOver),
        ]
        members["activation"] = failure.activationID.map { .string($0) }
        return .object(members)
    }
}
