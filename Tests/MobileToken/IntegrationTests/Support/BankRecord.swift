import ExactJSON
import MobileTokenTesting

/// The bank's truth, gathered from its journal while time passes, because the journal forgets.
struct BankRecord {
    /// A signature, by the counter value that it used up: as client and server count alike, the client's move.
    struct Signature: Hashable {
        let activationID: String
        let move: UInt64
    }

    struct Decision: Hashable {
        let operationID: String
        let isApproval: Bool
    }

    private var position: UInt64 = 0
    private(set) var requestCount = 0
    private(set) var strikes: [String: Int] = [:]
    private(set) var decisions: [Signature: Decision] = [:]
    private(set) var wrongSignatures: [String] = []
    private(set) var reusedCounters: [Signature] = []
    /// The counter of each activation, in the bank's books.
    private(set) var counters: [String: UInt64] = [:]

    var strikeCount: Int { self.strikes.values.reduce(0, +) }

    var decisionCounts: [String: Int] {
        Dictionary(self.decisions.values.map { ($0.operationID, 1) }, uniquingKeysWith: +)
    }

    /// Leaves out all that has come until now.
    mutating func skip(_ emulator: Emulator) async { self.position = await emulator.journalPosition }

    mutating func read(_ emulator: Emulator) async {
        for entry in await emulator.journal(since: self.position) {
            self.position = entry.id
            guard !entry.path.hasPrefix("/v2/") else { continue }  // the bank's own
            self.note(entry)
        }
    }

    private mutating func note(_ entry: Emulator.JournalEntry) {
        if let fault = entry.fault { self.strikes[fault, default: 0] += 1 }
        self.requestCount += 1
        if entry.refusal?.hasPrefix("the signature is wrong") == true { self.wrongSignatures.append(entry.path) }
        guard entry.isSigned, let id = entry.activationID, let before = entry.counterBefore,
            let after = entry.counterAfter, after > before
        else { return }
        let signature = Signature(activationID: id, move: after)
        if before < self.counters[id] ?? 0 { self.reusedCounters.append(signature) }
        self.counters[id] = after
        guard entry.isAccepted, let operationID = entry.decidedOperationID else { return }
        self.decisions[signature] = Decision(
            operationID: operationID,
            isApproval: entry.path.hasSuffix("/authorize")
        )
    }
}

extension Emulator.JournalEntry {
    fileprivate var decidedOperationID: String? {
        guard self.path.hasSuffix("/authorize") || self.path.hasSuffix("/cancel") else { return nil }
        return (try? JSONValue(parsing: Array(self.body.utf8)))?["requestObject"]?["id"]?.string
    }
}
