import DecisionReceipts

/// Compares the receipts with the bank's truth.
struct ReceiptAudit {
    private(set) var results: [String: Int] = [:]
    private(set) var problems: [String] = []
    private var outcomes: [BankRecord.Signature: DecisionReceipt] = [:]

    init(_ receipts: [DecisionReceipt], _ record: BankRecord) {
        for receipt in receipts {
            let signature = receipt.signature
            self.results[receipt.outcome?.result.name ?? "open", default: 0] += 1
            if self.outcomes.updateValue(receipt, forKey: signature) != nil {
                self.problems.append("two intents of one signature: \(receipt.line)")
            }
            self.check(receipt, record)
        }
        for (signature, decision) in record.decisions where self.outcomes[signature] == nil {
            self.problems.append("no intent of a decision: \(signature) \(decision)")
        }
    }

    private mutating func check(_ receipt: DecisionReceipt, _ record: BankRecord) {
        let decision = record.decisions[receipt.signature]
        if let decision {
            let isSame =
                decision.operationID == receipt.intent.personalData?.operationID
                && decision.isApproval == (receipt.intent.verdict == .approve)
            if !isSame { self.problems.append("the intent was another than \(decision): \(receipt.line)") }
        }
        if receipt.intent.verdict == .approve, receipt.intent.isComplete != true {
            self.problems.append("something incomplete was approved: \(receipt.line)")
        }
        switch receipt.outcome?.result {
        case .accepted, .inferred:
            if decision == nil { self.problems.append("the bank knows nothing of it: \(receipt.line)") }
        case .refused, .notFollowed:
            if decision != nil { self.problems.append("the bank carried it out: \(receipt.line)") }
        case .unknown:
            // A later signature wipes out the trace.
            let isWiped = record.counters[receipt.intent.activationID] ?? 0 > receipt.intent.moves
            if !isWiped { self.problems.append("it could have been found out: \(receipt.line)") }
        case .unanswered, .doubtful, .followed, nil:
            self.problems.append("it was never found out: \(receipt.line)")
        }
    }
}

extension DecisionReceipt {
    fileprivate var signature: BankRecord.Signature {
        BankRecord.Signature(activationID: self.intent.activationID, move: self.intent.moves)
    }

    fileprivate var line: String {
        let operation = self.intent.personalData?.operationID ?? "?"
        return """
            \(self.number) \(self.intent.activationID) move \(self.intent.moves) \(self.intent.verdict) of \(operation), \
            attempt \(self.intent.attempt), \(self.outcome?.result.description ?? "open")
            """
    }
}
