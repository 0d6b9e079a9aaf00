import PowerAuthProtocol

/// Evidence of an activation's decisions: its status at the server, the fate of its signatures, and the journal of its store.
///
/// An `ApprovalAgent` decides by it only. An ``Activation`` gives its own, and a type that wraps one forwards that:
///
/// ```swift
/// var evidence: DecisionEvidence? { self.activation.evidence }
/// ```
public struct DecisionEvidence: Sendable {
    package let source: any DecisionEvidenceSource

    package init(_ source: some DecisionEvidenceSource) { self.source = source }
}

/// The functions of an activation that services and agents need beside its requests.
package protocol DecisionEvidenceSource: Sendable {
    // MARK: The server

    /// The scheme, host and port of the server.
    var serverOrigin: String { get }
    /// The difference between the local clock and the server's; `nil` until the server has told its time.
    var clockSkew: Duration? { get }
    /// The time after its sending in which a request may still reach the server.
    var requestTimeout: Duration { get }
    /// Returns a probe for a response that states the server's time, to be made just before the request.
    func makeServerTimeProbe() -> ServerTimeProbe?

    // MARK: The status

    /// Asks for the status, and brings the counter in step.
    func status() async throws -> ActivationStatus
    /// Asks for the status, and signs nothing.
    func unsignedStatus() async throws -> ActivationStatus

    // MARK: The device's own key

    /// Signs the data of an operation with the device's own key, as a JSON web token.
    func deviceSignature(ofOperationData data: String, with authentication: Authentication) async throws -> String

    // MARK: Decisions

    /// The store, when it keeps receipts.
    var store: ActivationStore? { get }
    /// Asks the server whether it accepted the signature of a decision.
    func fate(of decision: OpenDecision) async throws -> CounterEvidence
    /// Returns the decisions whose fate is not known.
    func openDecisions() async throws -> [OpenDecision]
    /// Returns the time in which the request of a decision may still reach the server.
    func timeLeft(of decision: OpenDecision) -> Duration
    /// Returns whether another signature's receipt claims to have decided the operation of a decision.
    func isClaimed(otherThanBy decision: OpenDecision) async throws -> Bool
    /// Returns whether another signature may have decided the operation of a decision.
    func isContested(_ decision: OpenDecision) async throws -> Bool
    /// Writes the outcome of a decision whose answer was lost.
    func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async
}

extension DecisionEvidenceSource {
    /// The receipts of all activations of the store; `nil` where it keeps none.
    package var receipts: ActivationStore.Receipts? {
        self.store.map { ActivationStore.Receipts(store: $0, activationID: nil) }
    }

    /// Returns whether the request of a decision cannot reach the server any more.
    package func cannotArrive(_ decision: OpenDecision) -> Bool { self.timeLeft(of: decision) <= .zero }

    /// Returns whether the server has nothing against a signature now: the activation is active, the counters can meet, and no
    /// failed attempt is counted. Signs nothing.
    package func mayGoOnSigning() async throws -> Bool {
        let status = try await self.unsignedStatus()
        return status.state == .active && status.failedAttempts == 0 && status.counter.canSign
    }
}

extension Activation: DecisionEvidenceSource {
    /// The evidence of this activation's decisions.
    public nonisolated var evidence: DecisionEvidence? { DecisionEvidence(self) }
}
