import Coordination
import Basics
import Coordination
import PowerAuth
import Synchronization

/// The operations of one activation.
final class ServiceSource: AgentSource {
    private struct State {
        var condition = FleetActivationState(.starting)
        var lastFailure: (error: MobileTokenError, time: Duration)?
        var isRunning = false
    }

    private let service: OperationsService
    private let state = Mutex(State())

    init(_ service: OperationsService) {
        self.service = service
    }

    var alarms: Alarms { self.service.poller.alarms }
    var onlyActivationID: String? { self.activationID }
    var pauseCheckInterval: Duration? { nil }
    var requestTimeout: Duration { (self.service.channel as? Activation)?.requestTimeout ?? .zero }
    private var activationID: String { self.service.channel.activationID }

    func run() async throws {
        self.state.withLock { $0.isRunning = true }
        defer { self.state.withLock { $0.isRunning = false } }
        try await self.service.run()
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
        let change: FleetActivationState? = self.state.withLock { state in
            if let reason { state.lastFailure = (reason, self.service.now) }
            let before = state.condition.phase
            state.condition = FleetActivationState(phase ?? before, reason: reason)
            return before == state.condition.phase ? nil : state.condition
        }
        guard let change else { return }
        self.service.channel.observer?.activationStateChanged(
            ActivationStateObservation(change, of: self.activationID)
        )
        await report(.state(activationID: self.activationID, change))
    }

    func service(of activationID: String) async -> OperationsService? { self.service }

    func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        try await body(self.service)
    }

    func learn(_ error: MobileTokenError, of activationID: String) async {
        self.state.withLock { $0.lastFailure = (error, self.service.now) }
    }

    var journals: [any DecisionJournal] { [(self.service.channel as? Activation)?.journal].compactMap { $0 } }

    var health: FleetHealth {
        get async {
            var health = FleetHealth()
            let state = self.state.withLock { $0 }
            health.isRunning = state.isRunning
            health.counts = [state.condition.phase: 1]
            health.lastFailure = state.lastFailure.map {
                .init(activationID: self.activationID, error: $0.error, age: self.service.now - $0.time)
            }
            health.oldestSuccessfulPoll = await self.service.list.age
            if let activation = self.service.channel as? Activation {
                health.clockSkews[activation.serverOrigin] = activation.clockSkew
            }
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
