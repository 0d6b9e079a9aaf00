package import DecisionReceipts
import MobileTokenObserving
public import PowerAuthClient
import PowerAuthProtocol

/// The evidence of an activation's decisions: its status at the server, the state of its signatures, and its receipts.
///
/// An `ApprovalAgent` requires it. ``Activation`` provides it, and a wrapper forwards it:
///
/// ```swift
/// var evidence: DecisionEvidence? { self.activation.evidence }
/// ```
public struct DecisionEvidence: Sendable {
    package let source: any DecisionEvidenceSource

    package init(_ source: some DecisionEvidenceSource) { self.source = source }
}

/// The functions of an activation that services and agents need besides requests.
package protocol DecisionEvidenceSource: Sendable {
    // MARK: The server

    /// The scheme, host and port of the server.
    var serverOrigin: String { get }
    /// The difference between the local clock and the server's; `nil` before it is known.
    var clockSkew: Duration? { get }
    /// The time after sending in which a request may still reach the server.
    var requestTimeout: Duration { get }
    /// Fetches the server's release; `nil` if the server does not report it.
    func serverRelease() async throws -> ServerRelease?
    /// Returns a probe for a response that contains the server's time. Make it just before the request.
    func makeServerTimeProbe() -> ServerTimeProbe?

    // MARK: The status

    /// Fetches the status and resynchronizes the counter.
    func status() async throws -> ActivationStatus
    /// Fetches the status without signing.
    func unsignedStatus() async throws -> ActivationStatus
    /// Makes one possession signature if signatures are lost, unless only the last ones of the server's window are left.
    func tryLostCounter() async throws -> ActivationStatus

    // MARK: The device's own key

    /// Signs the operation data with the device's own key, as a JSON web token.
    func deviceSignature(ofOperationData data: String, with authentication: Activation.Authentication) async throws
        -> String

    // MARK: Decisions

    /// The store, if it keeps receipts.
    var store: ActivationStore? { get }
    /// Fetches the status and compares the server's counter with the decision's. Signs nothing.
    func counter(at decision: OpenDecision) async throws -> DecisionFate.Counter
    /// Makes a signature that invalidates all earlier ones.
    func fence() async throws
    /// Returns the decisions with an unknown outcome.
    func openDecisions() async throws -> [OpenDecision]
    /// Returns how long the decision's request may still reach the server.
    func timeLeft(of decision: OpenDecision) -> Duration
    /// Returns the results of other signatures for the same operation, from the receipts.
    func results(ofOthersThan decision: OpenDecision) async throws -> [DecisionOutcome.Result?]
    /// Records the outcome of a decision with a lost response.
    func resolve(_ decision: OpenDecision, as result: DecisionOutcome.Result) async
}

extension DecisionEvidenceSource {
    /// The receipts of all activations of the store; `nil` if it keeps none.
    package var receipts: StoredReceipts? {
        self.store.map { StoredReceipts(in: $0, of: nil) }
    }

    /// Returns whether the server would accept a signature: the activation is active, the counters can be synchronized, and no
    /// failed attempt is counted. Signs nothing.
    package func mayGoOnSigning() async throws -> Bool {
        let status = try await self.unsignedStatus()
        return status.state == .active && status.failedAttempts == 0 && status.counter.canSign
    }

    /// Makes a signature and returns whether signatures arrive again.
    package func signaturesArrive() async throws -> Bool {
        let status = try await self.tryLostCounter()
        return status.counter.canSign && status.lostSignatures == 0
    }
}

extension Activation: DecisionEvidenceSource {
    /// The evidence of this activation's decisions.
    public nonisolated var evidence: DecisionEvidence? { DecisionEvidence(self) }
}
