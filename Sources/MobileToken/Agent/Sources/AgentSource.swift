import Coordination
import PowerAuth

/// Where an agent's operations come from: a fleet, or one service.
protocol AgentSource: Sendable {
    /// What deadlines are counted on.
    var alarms: Alarms { get }

    /// The longest that a request of the activations may take.
    var requestTimeout: Duration { get }

    /// Polls until the calling task is canceled.
    ///
    /// - Throws: what ended polling for good.
    func run() async throws

    /// Hands over what is listed and how the activations are doing, first as it is and then what is new, until the calling
    /// task is canceled or there is nothing more.
    nonisolated(nonsending) func follow(_ report: (AgentNews) async -> Void) async

    /// The service of an activation that this process polls, or has until it ended; `nil` of one that was never opened.
    func service(of activationID: String) async -> OperationsService?

    /// Runs `body` with an activation's service, provided that this process decides for it.
    func withDecision<Result: Sendable>(
        on activationID: String,
        _ body: @Sendable (OperationsService) async throws -> Result
    ) async throws -> Result

    /// Takes in how a decision failed, which tells of the activation what a poll would tell.
    func learn(_ error: MobileTokenError, of activationID: String) async

    /// The stores of the activations, of those that keep receipts.
    var journals: [any DecisionJournal] { get }

    /// The interval at which stores are asked for a pause, for a source that tells nothing of polls; `nil` for one that does.
    var pauseCheckInterval: Duration? { get }

    /// How polling is doing.
    var health: FleetHealth { get async }

    /// The activation that the agent ends with, because there is no other; `nil` of one for a fleet.
    var onlyActivationID: String? { get }
}

/// What a source has to tell.
enum AgentNews: Sendable {
    /// The operations of an activation that wait for a decision, all of them.
    case listed(activationID: String, [UserOperation])
    case state(activationID: String, FleetActivationState)
    /// A poll has ended, whatever came of it.
    case polled
    /// The activation is not this process's any more.
    case left(activationID: String)
}
