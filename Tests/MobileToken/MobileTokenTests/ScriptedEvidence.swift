import MobileToken
import PowerAuth
import TestSupport

/// The evidence that a test gives of an activation without a counter and a store.
struct ScriptedEvidence: DecisionEvidenceSource {
    /// The answers to questions for the status, the last of which is repeated.
    let states = Shared<[Result<ActivationState, MobileTokenError>]>([.success(.active)])
    let questions = Shared(0)
    /// Called before the open decisions are told.
    let reading = Shared<@Sendable () async -> Void> {}

    let serverOrigin = "https://scripted"
    let clockSkew: Duration? = nil
    let requestTimeout = Duration.seconds(20)
    let store: ActivationStore? = nil

    func serverRelease() async throws -> ServerRelease? { nil }

    func makeServerTimeProbe() -> ServerTimeProbe? { nil }

    func status() async throws -> ActivationStatus { try await self.unsignedStatus() }

    func unsignedStatus() async throws -> ActivationStatus {
        self.questions.update { $0 += 1 }
        let state = try self.states.update { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        return ActivationStatus(
            state: state,
            failedAttempts: 0,
            maximumFailedAttempts: 5,
            counter: CounterComparison(result: .inSync, distance: 0, window: 20)
        )
    }

    func deviceSignature(ofOperationData data: String, with authentication: Activation.Authentication) async throws
        -> String
    {
        "signature of \(data)"
    }

    func tryLostCounter() async throws -> ActivationStatus { try await self.unsignedStatus() }

    func counter(at decision: OpenDecision) async throws -> DecisionFate.Counter { .untold }
    func fence() async throws {}
    func openDecisions() async throws -> [OpenDecision] {
        await self.reading.value()
        return []
    }

    func timeLeft(of decision: OpenDecision) -> Duration { .zero }
    func results(ofOthersThan decision: OpenDecision) async throws -> [DecisionOutcome.Result?] { [] }

    func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async {}
}
