import DecisionReceipts
public import Foundation
public import MobileToken
import PowerAuth
public import PowerAuthClient
public import MobileTokenReceipts

extension OperationsService {
    /// Compares the stored receipts with the bank's history, and returns every difference.
    ///
    /// Fetching the history uses a signature, which destroys the evidence that the server's counter holds about unresolved
    /// decisions. With `isSettling: true` the call resolves them first, and a signature of possession invalidates one that may
    /// still be carried out. Otherwise the call throws `decisionsOpen` while such evidence exists.
    ///
    /// - Parameters:
    ///   - authentication: Two factors, as for `history(authenticatedBy:)`.
    ///   - since: Reports decisions without a receipt only for operations created from then on, by the bank's clock; `nil` is any
    ///     time.
    ///   - archive: Exported receipts to include, such as those no longer in the store.
    ///   - isSettling: `true` to write provable outcomes into open and unknown receipts. A signature decided nothing if the
    ///     operation ended differently or still waits; it did decide if the server had followed the counter. If the operation
    ///     ended as decided and nothing shows by whom, or it is over and the history lacks it, `unknown` is written.
    /// - Throws:
    ///   `decisionsOpen`, `receiptsNotKept`, `ReceiptFault` for a changed line of the archive, and the errors of `history(authenticatedBy:)`.
    public func reconcileReceipts(
        with authentication: Activation.Authentication,
        since: Date? = nil,
        exportedTo archive: ReceiptArchive? = nil,
        isSettling: Bool = false
    ) async throws -> ReceiptReconciliation {
        guard let evidence = self.channel.evidence?.source, let receipts = evidence.receipts else {
            throw MobileTokenError(.receiptsNotKept, "The channel of these operations shows no receipts")
        }
        let exported = try await archive?.receipts() ?? []
        let over = try await self.lookIntoOpenDecisions(by: evidence, isSettling: isSettling)
        let before = try await [DecisionReceipt](receipts)
        let history = try await self.history(authenticatedBy: authentication)
        var reconciliation = ReceiptReconciliation(
            of: try await [DecisionReceipt](receipts).joined(with: exported),
            activationID: self.channel.activationID,
            with: history,
            since: since,
            readBefore: before.joined(with: exported),
            over: over
        )
        if isSettling { await reconciliation.writeConclusions(of: self.channel.activationID, in: evidence) }
        return reconciliation
    }

    /// - Returns: The decisions whose outcome only the verdict that ended the operation can tell.
    /// - Throws: `decisionsOpen` if a signature would destroy evidence.
    private func lookIntoOpenDecisions(
        by evidence: any DecisionEvidenceSource,
        isSettling: Bool
    ) async throws -> Set<DecisionReceipt.Key> {
        var over: Set<DecisionReceipt.Key> = []
        for open in try await evidence.openDecisions() {
            if isSettling {
                // A failure with one does not affect the others: the history resolves an open one, or reports it.
                if let fate = try? await self.look(at: open, fencing: true), fate.isOpen, fate.needsVerdict {
                    over.insert(.init(open.intent.activationID, open.moves))
                }
                try Task.checkCancellation()
                continue
            }
            switch try await evidence.counter(at: open) {
            case .reached where open.result == .evidenceLost: continue
            case .behind, .followed, .reached: throw Self.isOpen(open)
            case .past, .untold: continue
            }
        }
        return over
    }

    private static func isOpen(_ decision: OpenDecision) -> MobileTokenError {
        MobileTokenError(
            .decisionsOpen,
            """
            A decision on operation \(decision.intent.operationID) is open, and the server's counter still tells what became of \
            it. Asking for the history would wipe that out: look into it first
            """
        )
    }
}

extension ReceiptReconciliation {
    /// Writes the proven outcomes.
    fileprivate mutating func writeConclusions(of activationID: String, in evidence: any DecisionEvidenceSource) async {
        for difference in self.differences {
            guard let result = difference.conclusion else { continue }
            for receipt in difference.receipts where receipt.intent.activationID == activationID {
                guard let intent = receipt.intent.decision else { continue }
                await evidence.resolve(OpenDecision(intent, moves: receipt.intent.moves, tag: receipt.tag), as: result)
                self.settled.append(difference)
            }
        }
        self.differences.removeAll { self.settled.contains($0) }
    }
}

extension [DecisionReceipt] {
    fileprivate init(_ receipts: StoredReceipts) async throws {
        self.init()
        for try await receipt in receipts { self.append(receipt) }
    }

    /// Adds signatures known elsewhere.
    fileprivate func joined(with others: Self) -> Self {
        let known = Set(self.map(\.key))
        return others.filter { !known.contains($0.key) } + self
    }
}
