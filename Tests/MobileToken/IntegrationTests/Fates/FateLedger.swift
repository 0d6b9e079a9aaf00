import MobileToken
import MobileTokenApprovals
import MobileTokenEmulator

@testable import CommandLineSupport

/// The claims of a story, to be compared with the bank's books.
struct FateLedger: Sendable {
    /// Something that the SDK said.
    struct Claim: Sendable {
        enum Content: Sendable {
            /// A call returned, or an agent said that it decided.
            case done
            case failed(MobileTokenError)
            /// An agent said that somebody else decided.
            case over(MobileTokenError)
            case unapproved(ApprovalError)
            case stopped(MobileTokenError)
            case broken(String)
        }

        let step: String
        let operationID: String?
        let verdict: DecisionIntent.Verdict?
        let content: Content
        /// The operation's status when it was said.
        var status: String?
        /// The decisions of the bank's books when it was said.
        var decisions: [BankRecord.Signature: BankRecord.Decision] = [:]
        var moves: Set<UInt64> = []
    }

    var claims: [Claim] = []
    var receipts: [(step: String, receipts: [DecisionReceipt])] = []
    var record = BankRecord()
}

/// The judge: what was said is compared with the bank's books, and nothing is excused.
struct FateJudge {
    let ledger: FateLedger
    let activationID: String
    let journal: [Emulator.JournalEntry]
    private(set) var findings: [String] = []

    init(_ ledger: FateLedger, activationID: String, journal: [Emulator.JournalEntry]) {
        (self.ledger, self.activationID, self.journal) = (ledger, activationID, journal)
        for (step, receipts) in ledger.receipts { for receipt in receipts { self.judge(receipt, step) } }
        for claim in ledger.claims { self.judge(claim) }
    }

    private func signature(_ receipt: DecisionReceipt) -> BankRecord.Signature {
        .init(activationID: receipt.intent.activationID, move: receipt.intent.moves)
    }

    private mutating func judge(_ receipt: DecisionReceipt, _ step: String) {
        let decision = self.ledger.record.decisions[self.signature(receipt)]
        let said =
            "\(step): receipt of move \(receipt.intent.moves), \(receipt.intent.verdict) of \(self.name(receipt.intent.personalData?.operationID)): \(receipt.outcome?.result.description ?? "open")"
        switch receipt.outcome?.result {
        // It says that the operation ended so. The bank does not tell which device of the user has decided it.
        case .inferred:
            let isTrue = self.ledger.record.decisions.values.contains {
                $0.operationID == receipt.intent.personalData?.operationID
                    && $0.isApproval == (receipt.intent.verdict == .approve)
            }
            if !isTrue { self.findings.append("\(said); the operation ended otherwise") }
        case .accepted:
            let isTrue =
                decision?.isApproval == (receipt.intent.verdict == .approve)
                && decision?.operationID == receipt.intent.personalData?.operationID
            if !isTrue { self.findings.append("\(said); the bank carried it not out") }
        case .refused, .notFollowed:
            if decision != nil { self.findings.append("\(said); the bank carried it out") }
        case .followed:
            let move = receipt.intent.moves
            let isTrue = self.journal.contains {
                $0.activationID == self.activationID && $0.counterAfter == move && $0.counterBefore != move
            }
            if !isTrue { self.findings.append("\(said); the server never followed") }
        case .doubtful, .unknown, .unanswered, nil: break
        }
    }

    private func name(_ id: String?) -> String { id.map { String($0.prefix(4)) } ?? "?" }

    /// Returns whether the books have it that a signature of this activation decided so.
    private func isOurs(
        _ claim: FateLedger.Claim,
        _ decisions: [BankRecord.Signature: BankRecord.Decision]
    ) -> Bool {
        decisions.contains { signature, decision in
            signature.activationID == self.activationID && decision.operationID == claim.operationID
                && decision.isApproval == (claim.verdict == .approve) && claim.moves.contains(signature.move)
        }
    }

    private mutating func judge(_ claim: FateLedger.Claim) {
        let said = "\(claim.step): \(claim.verdict.map { "\($0) of \(self.name(claim.operationID))" } ?? "call")"
        switch claim.content {
        case .done:
            // As for a receipt: the operation ended so, whichever device of the user has decided it.
            let hasEndedSo = claim.decisions.values.contains {
                $0.operationID == claim.operationID && $0.isApproval == (claim.verdict == .approve)
            }
            guard claim.verdict != nil, !hasEndedSo else { return }
            self.findings.append(
                "\(said) was said to be carried out; the books have it not, the operation is \(claim.status ?? "?")"
            )
        case .broken(let what): self.findings.append("\(said): \(what)")
        case .stopped(let error): self.findings.append("\(said): stopped by \(error.code), and the activation is well")
        case .over(let error):
            if claim.status == "PENDING" {
                self.findings.append("\(said): over elsewhere (\(error.code)), and it is pending")
            }
            if self.isOurs(claim, self.ledger.record.decisions) {
                self.findings.append("\(said): over elsewhere (\(error.code)), and it was ours")
            }
        case .failed(let error): self.judge(claim, error, said)
        case .unapproved(let error): self.judge(claim, error, said)
        }
    }

    /// The person is well and has a device, and the server shows what was asked.
    private mutating func judge(_ claim: FateLedger.Claim, _ error: ApprovalError, _ said: String) {
        let isTrue =
            switch error.code {
            case .rejected: claim.status == "REJECTED"
            case .canceled: claim.status == "CANCELED"
            case .expired: claim.status != "APPROVED" && claim.status != "REJECTED"
            case .lapsed: claim.status == "APPROVED"
            default: false
            }
        if !isTrue { self.findings.append("\(said): the desk says \(error); the operation is \(claim.status ?? "?")") }
    }

    private mutating func judge(_ claim: FateLedger.Claim, _ error: MobileTokenError, _ said: String) {
        let code = ExitCode(error)
        let words = "\(said) failed with \(error.code), exit \(code.rawValue)"
        switch code {
        case .unavailable, .differing: return
        case .over:
            if claim.status == "PENDING" { self.findings.append("\(words); it is pending") }
            let isRefusedFalsely =
                claim.verdict != nil && self.isOurs(claim, claim.decisions) && error.code != .operationAlreadyFinished
            if isRefusedFalsely { self.findings.append("\(words); it was carried out") }
        case .wrongFactors: self.findings.append("\(words); the factors are right")
        case .removed, .notFound, .blocked:
            self.findings.append("\(words); the activation is well, and the operation there")
        case .refused:
            if claim.verdict != nil, self.isOurs(claim, self.ledger.record.decisions) {
                self.findings.append("\(words); it was carried out")
            } else if !self.journal.contains(where: {
                $0.activationID == self.activationID && !$0.isAccepted && $0.fault == nil
            }) {
                self.findings.append("\(words); no server refused anything")
            }
        default: self.findings.append("\(words); that is no end of a call")
        }
    }

    mutating func note(_ finding: String) { self.findings.append(finding) }
}
