import Basics
import PowerAuth
import PowerAuthCrypto

/// A chain of exported receipt lines, and whether each continues the earlier ones.
///
/// A value without files: pass it the lines.
package struct ReceiptChain: Sendable, Equatable {
    /// The digest before the first line.
    package static let start = [UInt8](repeating: 0, count: SHA256.byteCount)

    /// The latest entry, as a position in a journal.
    package struct Place: Sendable, Equatable {
        package let number: UInt64
        package let previous: [UInt8]
        package let digest: [UInt8]
    }

    /// The digest of the latest line; `nil` before the first.
    package private(set) var head: [UInt8]?
    package private(set) var latest: Place?
    package private(set) var firstNumber: UInt64?
    package private(set) var counts = ReceiptVerification.Counts()
    package private(set) var signatures: [ReceiptSignature] = []
    /// The intents with possible further outcomes.
    private var unfinished: [UInt64: LatestOutcome] = [:]
    /// The keys of questions with an unknown end, by receipt number.
    private var unknownQuestions: [UInt64: String] = [:]
    /// The unreadable entries, each of which may be an intent.
    private var unreadable: Set<UInt64> = []
    /// Independently known device keys, by activation.
    private let devicePublicKeys: [ExactString: [UInt8]]

    package init(devicePublicKeys: [String: [UInt8]] = [:]) {
        self.devicePublicKeys = Dictionary(
            devicePublicKeys.map { (ExactString($0.key), $0.value) },
            uniquingKeysWith: { first, _ in first }
        )
    }

    /// Adds a line.
    ///
    /// - Throws: The reason why the line does not continue the chain; nothing is added then.
    @discardableResult
    package mutating func add(_ bytes: [UInt8]) throws(ReceiptFault.Reason) -> ReceiptLine {
        let line = try ReceiptLine(parsing: bytes)
        if let head, line.previous != head { throw .brokenChain }
        switch line.content {
        case .entry(let entry): try self.add(entry)
        case .question(let number, let receipt): try self.add(receipt, number)
        case .signature(let signature): try self.add(signature, of: line.previous)
        }
        let digest = line.digest
        if let number = line.number {
            self.latest = Place(number: number, previous: line.previous, digest: digest)
            // Earlier lines may be elsewhere, but nothing precedes the first entry.
            if self.firstNumber == nil { self.firstNumber = number }
        }
        self.head = digest
        self.counts.lines += 1
        return line
    }

    private func check(_ number: UInt64) throws(ReceiptFault.Reason) {
        guard number > 0, self.latest.map({ number - 1 == $0.number }) ?? true else { throw .wrongNumber }
    }

    /// Adds a question's receipt: one per question, and another one if its end was unknown.
    private mutating func add(_ receipt: QuestionReceipt, _ number: UInt64) throws(ReceiptFault.Reason) {
        try self.check(number)
        if let earlier = receipt.completes {
            let isKnown = self.firstNumber.map { earlier >= $0 } ?? false
            let isOfThis = self.unknownQuestions.removeValue(forKey: earlier)?.isExactly(receipt.facts.key) == true
            guard earlier < number, isOfThis || !isKnown else { throw .outcomeOfNothing }
        } else {
            self.counts.questions += 1
        }
        if receipt.facts.state == ReceiptArchive.unknownState { self.unknownQuestions[number] = receipt.facts.key }
        if receipt.personal == nil { self.counts.erased += 1 }
    }

    private mutating func add(_ entry: DecisionReceipt.Entry) throws(ReceiptFault.Reason) {
        try self.check(entry.number)
        switch entry.content {
        case .intent(let intent):
            self.unfinished[entry.number] = LatestOutcome()
            self.counts.open += 1
            self.counts.intents += 1
            if intent.personalData == nil { self.counts.erased += 1 }
        case .outcome(let outcome, let intent):
            guard intent < entry.number else { throw .outcomeOfNothing }
            let isKnown = self.firstNumber.map { intent >= $0 } ?? false && !self.unreadable.contains(intent)
            if isKnown { try self.add(outcome, of: intent) }
            self.counts.outcomes += 1
        case .unreadable:
            self.unreadable.insert(entry.number)
            self.counts.unreadable += 1
        }
    }

    /// Adds an outcome. One less definite than the previous one is not the store's.
    private mutating func add(_ outcome: DecisionOutcome, of intent: UInt64) throws(ReceiptFault.Reason) {
        guard let latest = self.unfinished[intent], outcome.replaces(latest.outcome) else { throw .outcomeOfNothing }
        if latest.isOpen, !outcome.isOpen { self.counts.open -= 1 }
        self.unfinished[intent] = outcome.isFinal ? nil : LatestOutcome(outcome: outcome)
    }

    /// The latest known outcome of an intent.
    private struct LatestOutcome: Equatable {
        var outcome: DecisionOutcome?
        var isOpen: Bool { self.outcome?.isOpen ?? true }
    }

    private mutating func add(_ signature: ReceiptSignature, of head: [UInt8]) throws(ReceiptFault.Reason) {
        let known = self.devicePublicKeys[ExactString(signature.activationID)]
        guard signature.isValid(head: head), known == nil || known == signature.devicePublicKey else {
            throw .wrongSignature
        }
        self.signatures.append(signature)
    }
}
