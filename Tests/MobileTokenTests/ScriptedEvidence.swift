import MobileToken
import PowerAuth
import TestSupport

/// The evidence that a test gives of an activation without a counter and a store.
struct ScriptedEvidence: DecisionEvidenceSource {
    /// The answers to questions for the status, the last of which is repeated.
    let states = Shared<[Result<ActivationState, MobileTokenError>]>([.success(.active)])
    /// The number of questions for the status.
    let questions = Shared(0)
    /// Called before the open decisions are told.
    let reading = Shared<@Sendable () async -> Void> {}

    let serverOrigin = "https://scripted"
    let clockSkew: Duration? = nil
    let requestTimeout = Duration.seconds(20)
    let store: ActivationStore? = nil

    func makeServerTimeProbe() -> ServerTimeProbe? { nil }

    func status() async throws -> ActivationStatus { try await self.unsignedStatus() }

    func unsignedStatus() async throws -> ActivationStatus {
        self.questions.update { $0 += 1 }
        let state = try self.states.update { $0.count > 1 ? $0.removeFirst() : $0[0] }.get()
        return ActivationStatus(
            state: state,
            failedAttempts: 0,
            maximumFailedAttempts: 5,
            counter: ActivationStatus.CounterComparison(result: .inSync, distance: 0, window: 20)
        )
    }

    func deviceSignature(ofOperationData data: String, with authentication: Authentication) async throws -> String {
        "signature of \(data)"
    }

    func fate(of decision: OpenDecision) async throws -> CounterEvidence { .unknown }
    func openDecisions() async throws -> [OpenDecision] {
        await self.reading.value()
        return []
    }

    func timeLeft(of decision: OpenDecision) -> Duration { .zero }
    func isClaimed(otherThanBy decision: OpenDecision) async throws -> Bool { false }
    func isContested(_ decision: OpenDecision) async throws -> Bool { false }

    func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async {}
}
