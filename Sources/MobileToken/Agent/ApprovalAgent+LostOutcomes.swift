import Basics
import PowerAuth

extension ApprovalAgent {
    /// Finds out again about decisions whose outcomes the store has lost, as a database may lose the last ones when it fails and is
    /// started again. Without this, they would stay open until a process adopts the activation anew.
    ///
    /// One statement at an interval for all activations, and none where a store loses nothing.
    func findLostOutcomes() async {
        guard self.open.time <= self.now else { return }
        self.open.time = self.now + self.fleet.configuration.storeInterval.bounded
        // A decision that was open at the last look, and is not under way now, has its outcome unless that was lost.
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
            guard let evidence = try? await self.fleet.openedService(of: activationID)?.evidence,
                self.adopted.contains(ExactString(activationID))
            else { continue }
            let open = decisions.map { ($0, timeLeft: evidence.timeLeft(of: $0)) }
            self.follow(self.supervision.adopt(open, of: activationID, at: self.now))
        }
    }

    private var decisionsUnderWay: [AgentSupervision.Job] {
        self.open.decisions.isEmpty ? [] : self.supervision.decisionsUnderWay
    }
}

extension AgentSupervision.Job {
    fileprivate func isOn(_ decision: OpenDecision) -> Bool {
        self.activationID.isExactly(decision.intent.activationID)
            && self.operationID.isExactly(decision.intent.operationID)
    }
}
