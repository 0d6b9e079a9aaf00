import PowerAuth

extension OperationsService {
    /// Traces decisions by hand whose answers were lost, as an agent traces its own, and writes their outcomes into the receipts. The
    /// next signature would hide them.
    ///
    /// An outcome that cannot be found out now prevents no decision.
    func resolveOpenDecisions() async {
        guard self.mayHaveOpenDecisions, let evidence = self.channel.evidence?.source else { return }
        self.mayHaveOpenDecisions = false
        do {
            for open in try await evidence.openDecisions() where !open.intent.isAutomatic {
                // Before the questions: what arrives after them is in no answer.
                let isOver = evidence.cannotArrive(open)
                let trace = DecisionTrace(decision: open, service: self)
                let finding = try await trace.withoutContradiction(try await trace.finding())
                await trace.record(finding, isOver: isOver)
                if case .pending = finding, !isOver { self.mayHaveOpenDecisions = true }
            }
        } catch {
            self.mayHaveOpenDecisions = true
        }
    }
}

extension OperationsService {
    /// The evidence of the activation's decisions.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` when the activation is one of a test, or wrapped, and gives none.
    nonisolated var evidence: any DecisionEvidenceSource {
        get throws(MobileTokenError) {
            if let evidence = self.channel.evidence { return evidence.source }
            throw MobileTokenError(
                .invalidConfiguration,
                """
                The activation gives no `evidence`, which an agent decides by: its status, the fate of its signatures and the \
                journal of its store. A type that wraps an `Activation` returns that activation's
                """
            )
        }
    }
}
