public import Foundation
public import PowerAuth
public import MobileTokenReceipts

extension OperationsService {
    /// Compares the receipts of the store with the bank's history, and names every difference.
    ///
    /// The history is asked for with a signature, and a signature wipes out what the server's counter tells of a decision whose
    /// answer was lost. So open decisions are looked into first when `isSettling`, and end the call otherwise, as long as the
    /// counter still tells something.
    ///
    /// - Parameters:
    ///   - authentication: Two factors, as for ``history(with:)``.
    ///   - since: Decisions without a receipt count only of operations that began then or later, by the bank's clock; `nil` is any
    ///     time.
    ///   - archive: Exported receipts to take in, such as those that the store does not have any more.
    ///   - isSettling: `true` if what is proved of open and unknown decisions is written into the receipts: that a
    ///     signature decided nothing when the operation ended otherwise, and that it did when the server had followed
    ///     the counter. That the operation ended as it was decided proves nothing by itself, and is never written.
    /// - Throws: ``MobileTokenError/Code/decisionsOpen``, ``MobileTokenError/Code/receiptsNotKept``, `ReceiptFault` for a changed
    ///   line of the archive, and what ``history(with:)`` throws.
    public func reconcileReceipts(
        with authentication: Authentication,
        since: Date? = nil,
        exportedTo archive: ReceiptArchive? = nil,
        isSettling: Bool = false
    ) async throws -> ReceiptReconciliation {
        guard let evidence = self.channel.evidence?.source, let receipts = evidence.receipts else {
            throw MobileTokenError(.receiptsNotKept, "The channel of these operations shows no receipts")
        }
        let exported = try await archive?.receipts() ?? []
        try await self.lookIntoOpenDecisions(by: evidence, isSettling: isSettling)
        let before = try await [DecisionReceipt](receipts)
        let history = try await self.history(with: authentication)
        var reconciliation = ReceiptReconciliation(
            of: try await [DecisionReceipt](receipts).joined(with: exported),
            activationID: self.channel.activationID,
            with: history,
            since: since,
            readBefore: before.joined(with: exported)
        )
        if isSettling { await reconciliation.writeConclusions(of: self.channel.activationID, in: evidence) }
        return reconciliation
    }

    /// - Throws: ``MobileTokenError/Code/decisionsOpen`` when a signature would wipe out what can still be found out.
    private func lookIntoOpenDecisions(
        by evidence: any DecisionEvidenceSource,
        isSettling: Bool
    ) async throws {
        for open in try await evidence.openDecisions() {
            guard isSettling else {
                guard case .unknown = try await evidence.fate(of: open) else { throw Self.isOpen(open) }
                continue
            }
            let trace = DecisionTrace(decision: open, service: self)
            let finding = try await trace.withoutContradiction(try await trace.finding())
            switch finding {
            case .pending: throw Self.isOpen(open)  // it may still arrive
            case .unknown: continue  // the history may tell
            default: await trace.record(finding, isOver: true)
            }
        }
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
    /// Writes what is proved.
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
    fileprivate init(_ receipts: ActivationStore.Receipts) async throws {
        self.init()
        for try await receipt in receipts { self.append(receipt) }
    }

    /// Adds what another place keeps of other signatures.
    fileprivate func joined(with others: Self) -> Self {
        let known = Set(self.map(\.key))
        return others.filter { !known.contains($0.key) } + self
    }
}
