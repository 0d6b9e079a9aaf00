import Coordination
import PowerAuth

/// The operations of a fleet.
struct FleetSource: AgentSource {
    let fleet: OperationsFleet

    var alarms: Alarms { self.fleet.alarms }
    var onlyActivationID: String? { nil }
    var health: FleetHealth { get async { await self.fleet.health } }
    var journals: [any DecisionJournal] { self.fleet.clients.compactMap { try? $0.journal } }

    var requestTimeout: Duration { self.fleet.clients.map(\.requestTimeout).max() ?? .zero }

    /// The interval at which stores are searched for activations.
    var pauseCheckInterval: Duration? { self.fleet.configuration.storeInterval }

    /// Runs the fleet once no other caller runs it.
    func run() async throws { try await self.fleet.runInTurn() }

    nonisolated(nonsending) func follow(_ report: (AgentNews) async -> Void) async {
        for await event in self.fleet.polledEvents() {
            switch event {
            case .changed(let news):
                await report(.listed(activationID: news.activationID, news.change.operations))
            case .stateChanged(let id, let state): await report(.state(activationID: id, state))
            case .left(let id): await report(.left(activationID: id))
            case .failed: break
            }
        }
    }

    func service(of activationID: String) async -> OperationsService? {
        await self.fleet.openedService(of: activationID)
    }

    func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result {
        try await self.fleet.withDecision(on: activationID, body)
    }

    func learn(_ error: MobileTokenError, of activationID: String) async {
        await self.fleet.learn(error, of: activationID)
    }
}
