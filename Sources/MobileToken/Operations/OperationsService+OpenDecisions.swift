import PowerAuth

extension OperationsService {
    /// Traces decisions by hand whose answers were lost, as an agent traces its own, and writes their outcomes into the receipts. The
    /// next signature would hide them.
    ///
    /// An outcome that cannot be found out now prevents no decision.
    func resolveOpenDecisions() async {
        guard self.mayHaveOpenDecisions, let activation = self.channel as? Activation else { return }
        self.mayHaveOpenDecisions = false
        do {
            for open in try await activation.openDecisions() where !open.intent.isAutomatic {
                let trace = DecisionTrace(of: open, by: self)
                let finding = try await trace.withoutContradiction(try await trace.finding())
                let isOver = activation.cannotArrive(open)
                await trace.record(finding, isOver: isOver)
                if case .pending = finding.resolution, !isOver { self.mayHaveOpenDecisions = true }
            }
        } catch {
            self.mayHaveOpenDecisions = true
        }
    }
}

extension DecisionTrace {
    /// Creates the trace of a decision that was made before, by whomever.
    init(of open: OpenDecision, by service: OperationsService) {
        self.init(
            service: service,
            operationID: open.intent.operationID,
            decision: AgentDecision(open.intent.verdict),
            move: open.moves
        )
    }
}
