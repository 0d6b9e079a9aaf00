import Basics
import PowerAuth
import Synchronization

extension ApprovalAgent {
    /// Resolves again decisions with outcomes that the store lost, as a database may lose its last writes in a crash. Otherwise
    /// they would stay open until a process adopts the activation again.
    ///
    /// It costs one statement per interval for all activations, and none if the store cannot lose writes.
    func findLostOutcomes() async {
        guard self.open.time <= self.now else { return }
        self.open.time = self.now + self.fleet.configuration.storeInterval.bounded
        // A decision that was open at the last check, and is not in progress, has an outcome unless the store lost it.
        let (adopted, before, underWay) = (self.adopted, self.open.decisions, self.decisionsUnderWay)
        self.open.decisions = []
        for store in self.fleet.stores {
            let open = try? await store.openDecisionsWithLostOutcomes { adopted.contains(ExactString($0)) }
            self.open.decisions.formUnion(open ?? [])
        }
        let lost = self.open.decisions.intersection(before).filter { decision in
            !underWay.contains { $0.isOn(decision) }
        }
        for (activationID, decisions) in Dictionary(grouping: lost, by: \.intent.activationID) {
            guard let evidence = try? self.fleet.openedService(of: activationID)?.evidence,
                self.adopted.contains(ExactString(activationID))
            else { continue }
            let open = decisions.map { ($0, timeLeft: evidence.timeLeft(of: $0)) }
            self.supervise { $0.adopt(open, of: activationID, at: self.now) }
        }
    }

    private var decisionsUnderWay: [AgentSupervision.Job] {
        self.open.decisions.isEmpty ? [] : self.supervision.withLock { $0.decisionsUnderWay }
    }
}

extension AgentSupervision.Job {
    fileprivate func isOn(_ decision: OpenDecision) -> Bool {
        self.activationID.isExactly(decision.intent.activationID)
            && self.operationID.isExactly(decision.intent.operationID)
    }
}
