import Coordination
import Basics
import Coordination
import PowerAuth
import Synchronization

/// The operations of one activation.
final class ServiceSource: AgentSource {
    private struct State {
        var condition = FleetActivationState(.starting)
        var lastFailure: FleetFailure?
        var isRunning = false
    }

    private let service: OperationsService
    private let evidence: any DecisionEvidenceSource
    private let state = Mutex(State())

    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for a service that lacks what an agent decides by.
    init(_ service: OperationsService) throws(MobileTokenError) {
        self.service = service
        self.evidence = try service.evidence
    }

    var alarms: Alarms { self.service.poller.alarms }
    var onlyActivationID: String? { self.activationID }
    var pauseCheckInterval: Duration? { nil }
    var requestTimeout: Duration { self.evidence.requestTimeout }
    private var activationID: String { self.service.channel.activationID }

    func run() async throws {
        self.state.withLock { $0.isRunning = true }
        defer { self.state.withLock { $0.isRunning = false } }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.service.run() }
            group.addTask { try await self.compareCounters() }
            try await group.waitForAll()
        }
    }

    /// The time from a failure to the next question for the status.
    private static let comparingDelay = ActivationCondition.doubtWait

    /// Asks for the status until the server has told it: a store that was put back looks like any other, until a decision is lost to
    /// it.
    ///
    /// - Throws: What ends the activation; `CancellationError`.
    private func compareCounters() async throws {
        var condition = ActivationCondition()
        while !condition.isCompared {
            do {
                let status = try await self.evidence.unsignedStatus()
                condition.learned(status.state, status.counter.result, at: self.service.now)
            } catch let error as MobileTokenError {
                condition.statusFailed(error, at: self.service.now)
            }
            if condition.state.phase.isEnded, let reason = condition.state.reason {
                _ = self.change(to: condition.state.phase, reason)
                throw reason
            }
            if condition.isCompared { return }
            let clock = self.alarms.clock
            try await clock.sleep(until: clock.now + Self.comparingDelay)
        }
    }

    nonisolated(nonsending) func follow(_ report: (AgentNews) async -> Void) async {
        for await event in self.service.events() {
            switch event {
            case .changed(let change):
                await report(.listed(activationID: self.activationID, change.operations))
            case .failed(let error): await self.become(.init(afterFailure: error), error, report)
            case .loading(false):
                await report(.polled)
                guard case .success = await self.service.lastFetchResult else { continue }
                await self.become(.active, nil, report)
            case .loading(true): break
            }
        }
    }

    private nonisolated(nonsending) func become(
        _ phase: FleetActivationState.Phase?,
        _ reason: MobileTokenError?,
        _ report: (AgentNews) async -> Void
    ) async {
        guard let change = self.change(to: phase, reason) else { return }
        await report(.state(activationID: self.activationID, change))
    }

    /// - Returns: The state, if its phase is another one than before.
    private func change(to phase: FleetActivationState.Phase?, _ reason: MobileTokenError?) -> FleetActivationState? {
        if let reason { self.note(reason) }
        let change: FleetActivationState? = self.state.withLock { state in
            if reason == nil { state.lastFailure?.isOver = true }
            let before = state.condition.phase
            guard !before.isEnded else { return nil }
            state.condition = FleetActivationState(phase ?? before, reason: reason)
            return before == state.condition.phase ? nil : state.condition
        }
        if let change {
            self.service.channel.observer?.activationStateChanged(
                ActivationStateObservation(change, of: self.activationID)
            )
        }
        return change
    }

    private func note(_ error: MobileTokenError) {
        let failure = FleetFailure(
            subject: .activation(ExactString(self.activationID)),
            error: error,
            time: self.service.now
        )
        self.state.withLock { $0.lastFailure = failure }
    }

    func service(of activationID: String) async -> OperationsService? { self.service }

    func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        try await body(self.service)
    }

    func learn(_ error: MobileTokenError, of activationID: String) async {
        self.note(error)
    }

    var journals: [any DecisionJournal] { [self.evidence.journal].compactMap { $0 } }

    var health: FleetHealth {
        get async {
            var health = FleetHealth()
            let state = self.state.withLock { $0 }
            health.isRunning = state.isRunning
            health.counts = [state.condition.phase: 1]
            health.lastFailure = state.lastFailure?.seen(at: self.service.now)
            health.oldestSuccessfulPoll = await self.service.list.age
            health.clockSkews[self.evidence.serverOrigin] = self.evidence.clockSkew
            return health
        }
    }
}

extension FleetActivationState.Phase {
    /// The phase that a failed poll shows; `nil` when it shows none.
    fileprivate init?(afterFailure error: MobileTokenError) {
        switch error.code {
        case .activationBlocked: self = .blocked
        case .activationPending: self = .awaitingCommit
        default:
            guard let phase = Self(endingWith: error) else { return nil }
            self = phase
        }
    }
}
