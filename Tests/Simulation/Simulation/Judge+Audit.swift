import PowerAuth

// The end: the receipts and the bank's books.
extension Judge {
    /// Compares the receipts with the bank's actions.
    ///
    /// If the database went back unnoticed, two nodes may have had one value: then one of the receipts matches the bank.
    mutating func audit(
        _ receipts: [DecisionReceipt],
        at now: Int64,
        _ book: (String) -> Book?,
        _ note: (String) -> Void
    ) {
        var seen: Set<Signature> = []
        let accounted = Set(
            receipts.filter { [.accepted, .inferred].contains($0.outcome?.result) }.map {
                Signature(activationID: $0.intent.activationID, move: $0.intent.moves)
            }
        )
        let ofOneOperation = Dictionary(grouping: receipts) { $0.intent.personalData?.operationID }
        for receipt in receipts {
            let signature = Signature(activationID: receipt.intent.activationID, move: receipt.intent.moves)
            let isWhole = self.isWhole(signature)
            if !seen.insert(signature).inserted, isWhole {
                self.fail("two receipts are of move \(signature.move)")
            }
            let result = receipt.outcome?.result
            self.count("receipt \(result?.name ?? "open")")
            let isApproval = receipt.intent.verdict == .approve
            let isOf = self.decisions[signature].map {
                $0.operationID == receipt.intent.personalData?.operationID && $0.isApproval == isApproval
            }
            let name = self.name(of: receipt.intent.personalData?.operationID)
            let isPending = receipt.intent.personalData.flatMap { book($0.operationID) }?.isOver == false
            note("receipt \(receipt.number) of \(name), move \(receipt.intent.moves): \(result?.description ?? "open")")
            if result != .accepted, isWhole, self.trace.heardAccepted[signature] != nil {
                self.fail(
                    "the receipt of \(name) says \(result?.name ?? "nothing"), and its node heard that it was accepted"
                )
            }
            switch result {
            case .accepted, .inferred:
                if isOf != true, result == .accepted || !self.hasLostReceipt(of: receipt, accounted) {
                    self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank knows nothing")
                }
                if isOf == true, isWhole, !self.carriedOutIntents.contains(receipt.intent) {
                    self.fail("the receipt of \(name) is of another decision than the bank carried out")
                }
            case .refused, .notFollowed:
                // The bank's decision by this value may be another node's, whose receipt the database lost.
                if isOf == true, isWhole || !accounted.contains(signature),
                    self.carriedOutIntents.contains(receipt.intent), !self.seemsRefused(signature)
                {
                    self.fail("the receipt of \(name) says \(result?.name ?? ""), and the bank did it")
                }
            // The bank has accepted the signature, or may have, and may be about to decide: nothing but the operation's end tells.
            case .followed where isPending: break
            // The bank refused a later decision for good: what lacks an end is looked for in the store now and then.
            case .followed
            where ofOneOperation[receipt.intent.personalData?.operationID, default: []].contains {
                let later = Signature(activationID: signature.activationID, move: $0.intent.moves)
                return later.move > signature.move && $0.outcome?.result.name == "refused"
                    && self.refused.contains(later) && now - (self.outcomeTimes[later] ?? now) < Self.memory
            }:
                break
            // An agent that takes the activation for blocked sees no list, and so not the end of the operation.
            case .followed where self.endedUnseen(receipt, at: now): break
            case .unanswered
            where result == .evidenceLost && (isPending || self.endedUnseen(receipt, at: now)):
                break
            case .doubtful where isPending && self.floors[signature.activationID] != nil: break
            case .unanswered where isPending && self.followed.contains(signature): break
            case .doubtful where isPending && self.followed.contains(signature): break
            case .unanswered, .doubtful, .followed, nil:
                // An activation that is blocked for good tells nothing.
                if receipt.intent.isAutomatic, !self.lostKeys.contains(signature.activationID),
                    self.wrongFactor != signature.activationID
                {
                    self.fail("nobody found out what became of \(name): receipt \(receipt.number) is open")
                }
            case .unknown:
                // Until a later signature destroys the evidence, the bank's counter shows it.
                let isWiped = self.counters[signature.activationID] ?? 0 > signature.move
                // Two signatures may decide one operation: neither the bank's counter nor a report that the operation is finished
                // shows which one did.
                let isContested = ofOneOperation[receipt.intent.personalData?.operationID, default: []].contains {
                    other in
                    switch other.outcome?.result {
                    case .accepted, .inferred: true
                    case .refused, .notFollowed: false
                    case .unanswered, .doubtful, .followed, .unknown, nil: other.number != receipt.number
                    }
                }
                // A failed attempt leaves a doubt of what the counter shows.
                if receipt.intent.isAutomatic, isWhole, !isWiped, !isContested,
                    !self.refusedActivations.contains(signature.activationID),
                    !self.lostKeys.contains(signature.activationID)
                {
                    self.fail("what became of \(name) could have been found out")
                }
            }
            let isPair = receipt.intent.personalData.flatMap { self.operations[$0.operationID]?.kind } == .pair
            if receipt.intent.isAutomatic, isApproval, receipt.intent.isComplete != true, !isPair {
                self.fail("the receipt of \(name) says that it was approved, and not complete")
            }
        }
        for (signature, decision) in self.decisions where self.isWhole(signature) && !seen.contains(signature) {
            self.fail("no receipt of the decision on \(self.name(of: decision.operationID))")
        }
    }
}

extension Judge {
    /// Returns whether a decision's operation has ended since an agent took the activation for blocked, as it does now. The bank itself
    /// notices the end only as it is asked.
    private func endedUnseen(_ receipt: DecisionReceipt, at now: Int64) -> Bool {
        guard let blocked = self.saidBlocked[receipt.intent.activationID]?.last, blocked.contains(now),
            let operation = receipt.intent.personalData.flatMap({ self.operations[$0.operationID] })
        else { return false }
        return operation.ended == 0 || blocked.contains(operation.ended)
    }

    /// Returns whether another decision, whose receipt the database lost, explains a receipt's inferred claim: nothing
    /// contradicts.
    private func hasLostReceipt(of receipt: DecisionReceipt, _ accounted: Set<Signature>) -> Bool {
        guard let id = receipt.intent.personalData?.operationID else { return false }
        return self.decisions.contains {
            $0.value.operationID == id && !self.isWhole($0.key) && !accounted.contains($0.key)
        }
    }
}
