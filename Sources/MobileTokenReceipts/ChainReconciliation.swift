import Basics
import ExactJSON
public import Foundation
public import PowerAuth
import PowerAuthCrypto

/// Receipts of those who asked, compared with receipts of those who decided.
///
/// ```swift
/// let questions = ReceiptArchive(folder: "/var/lib/deployer/questions")
/// let decisions = ReceiptArchive(folder: "/var/lib/approval-bot/receipts")
/// let reconciliation = try await ChainReconciliation(questions: questions, decisions: decisions)
/// for difference in reconciliation.differences { print(difference) }
/// ```
///
/// The two chains are written by different processes, which share the server alone: each is a witness that the other does not control.
/// An operation that one of them lacks is a difference only within ``period``.
public struct ChainReconciliation: Sendable, Hashable {
    /// The differences, in the order of the questions and then of the decisions.
    public private(set) var differences: [Difference] = []
    /// The number of operations of which both chains tell the same.
    public private(set) var agreeingCount = 0
    /// The number of answers that the asker has from a device of which there are no decisions here.
    public private(set) var otherDeviceCount = 0
    /// The number of operations that only one chain has, outside of ``period``.
    public private(set) var uncoveredCount = 0
    /// The number of receipts that cannot be compared because personal data were erased, of themselves or of what they would be compared with.
    public private(set) var erasedCount = 0
    /// The number of decisions whose outcome the one who decided does not know, and of which the asker has no answer.
    public private(set) var undeterminedCount = 0
    /// The time that both chains cover: from the first receipt of the one that began later to the last of the one that ended earlier. `nil`
    /// when there is none.
    public let period: ClosedRange<Date>?

    /// An operation on which the chains do not agree.
    public struct Difference: Sendable, Hashable {
        /// The kind of difference.
        public let kind: Kind
        /// The operation's identifier.
        public let operationID: String
        /// The idempotency key of the question; `nil` when the asking chain does not have it.
        public let question: String?
        /// The state in which the question ended, such as `done`; `nil` when the asking chain does not have it.
        public let questionState: String?
        /// The answer that the asker has, such as `approved`; `nil` when the asking chain does not have the operation.
        public let answer: String?
        /// The verdict of the one who decided; `nil` when the deciding chain does not have it.
        public let verdict: DecisionIntent.Verdict?
    }

    /// Compares two archives. Every line of both is checked.
    ///
    /// - Parameters:
    ///   - questions: Receipts that a desk exported.
    ///   - decisions: Receipts that a client exported.
    ///   - period: The time that both chains cover, when that is known from elsewhere; otherwise it is concluded from them.
    /// - Throws: ``ReceiptFault`` for the first line that was changed, ``MobileTokenError/Code/receiptsDiffer`` when the first archive has
    ///   receipts of decisions or the second has some of questions, and an error when a file cannot be read.
    public init(
        questions: ReceiptArchive,
        decisions: ReceiptArchive,
        period: ClosedRange<Date>? = nil
    ) async throws {
        let (asked, decided) = (try await questions.questionReceipts(), try await decisions.receipts())
        let hasDecisions = try await !questions.receipts().isEmpty
        let hasQuestions = try await !decisions.questionReceipts().isEmpty
        guard !hasDecisions, !hasQuestions else {
            throw MobileTokenError(
                .receiptsDiffer,
                "Receipts of questions are compared with receipts of decisions, in this order"
            )
        }
        self.init(questions: asked, decisions: decided, period: period)
    }

    /// Compares receipts.
    package init(questions: [QuestionReceipt], decisions: [DecisionReceipt], period: ClosedRange<Date>? = nil) {
        self.period = period ?? Self.commonPeriod(questions, decisions)
        // The receipt of a question that was settled takes the place of the earlier one.
        var last: [String: Int] = [:]
        for (index, receipt) in questions.enumerated() { last[receipt.facts.key] = index }
        let latest = questions.indices.filter { last[questions[$0].facts.key] == $0 }.map { questions[$0] }
        var decided: [ExactString: [DecisionReceipt]] = [:]
        var areErased = (questions: false, decisions: false)
        for decision in decisions where decision.mayCount {
            if let operation = decision.intent.personalData?.operationID {
                decided[ExactString(operation), default: []].append(decision)
            } else {
                self.erasedCount += 1
                areErased.decisions = true
            }
        }
        let devices = Set(decisions.map { ExactString($0.intent.activationID) })
        var known: Set<ExactString> = []
        for receipt in latest {
            guard let answers = receipt.personal?["answers"]?.array else {
                self.erasedCount += 1
                areErased.questions = true
                continue
            }
            for (answer, binding) in zip(answers, receipt.facts.bindings) {
                guard let operation = answer["operation"]?.string else { continue }
                known.insert(ExactString(operation))
                let side = Side(operation, answer, receipt, Base64URL.encode(binding))
                self.compare(side, decided[ExactString(operation)] ?? [], devices, areErased.decisions)
            }
        }
        for decision in decisions where decision.mayCount {
            guard let operation = decision.intent.personalData?.operationID,
                known.insert(ExactString(operation)).inserted
            else { continue }
            if areErased.questions {
                self.erasedCount += 1
            } else if self.covers(decision.intent.localDate) {
                self.differences.append(
                    Difference(
                        kind: .questionMissing,
                        operationID: operation,
                        question: nil,
                        questionState: nil,
                        answer: nil,
                        verdict: decision.intent.verdict
                    )
                )
            } else {
                self.uncoveredCount += 1
            }
        }
    }

    private static func commonPeriod(
        _ questions: [QuestionReceipt],
        _ decisions: [DecisionReceipt]
    ) -> ClosedRange<Date>? {
        let dates = decisions.map(\.intent.localDate)
        guard let asked = questions.map(\.facts.asked).min(), let ended = questions.map(\.facts.ended).max(),
            let first = dates.min(), let last = dates.max(), max(asked, first) <= min(ended, last)
        else { return nil }
        return max(asked, first)...min(ended, last)
    }

    private func covers(_ date: Date) -> Bool { self.period?.contains(date) ?? false }

    /// An operation as the asker tells of it.
    private struct Side {
        let operation: String
        let answer: String
        let data: String?
        let device: String?
        let isSurplus: Bool
        let date: Date
        let binding: String
        let facts: QuestionReceipt.Facts

        init(_ operation: String, _ answer: JSONValue, _ receipt: QuestionReceipt, _ binding: String) {
            self.operation = operation
            self.answer = answer["answer"]?.string ?? ""
            self.data = answer["data"]?.string
            self.device = answer["registration"]?.string
            self.isSurplus = answer["surplus"]?.bool ?? false
            self.date = answer["decidedAt"]?.string.flatMap { ISO8601.date(from: $0) } ?? receipt.facts.ended
            self.binding = binding
            self.facts = receipt.facts
        }

        /// The action was begun.
        var wasActedOn: Bool {
            ["claimed", "done", "threw", "settled", ReceiptArchive.unknownState].contains(self.facts.state)
        }
    }

    private mutating func compare(
        _ side: Side,
        _ decisions: [DecisionReceipt],
        _ devices: Set<ExactString>,
        _ areSomeErased: Bool
    ) {
        let isAnswered = ["approved", "discounted", "rejected"].contains(side.answer)
        guard let decision = decisions.last else {
            guard isAnswered else { return }
            if let device = side.device, !devices.contains(ExactString(device)) {
                self.otherDeviceCount += 1
            } else if areSomeErased {
                self.erasedCount += 1
            } else if !self.covers(side.date) {
                self.uncoveredCount += 1
            } else {
                let isActedOn = side.wasActedOn && side.answer == "approved"
                self.add(isActedOn ? .actedWithoutApproval : .decisionMissing, side, nil)
            }
            return
        }
        guard isAnswered else {
            guard decision.intent.verdict == .approve, !side.isSurplus else {
                // From a "no" that was not needed nothing followed.
                self.agreeingCount += 1
                return
            }
            guard decision.isCertain else {
                self.undeterminedCount += 1
                return
            }
            self.add(.approvalUnseen, side, decision)
            return
        }
        let verdict: DecisionIntent.Verdict = side.answer == "rejected" ? .reject : .approve
        guard decision.intent.verdict == verdict else {
            let isActedOn = side.wasActedOn && side.answer == "approved"
            self.add(isActedOn ? .actedWithoutApproval : .otherVerdict, side, decision)
            return
        }
        // The data hold the binding, whatever the asker knows of them.
        let signed = decision.intent.personalData?.signed ?? ""
        guard side.data?.isExactly(signed) ?? true, signed.contains(side.binding) else {
            self.add(.otherData, side, decision)
            return
        }
        self.agreeingCount += 1
    }

    private mutating func add(_ kind: Difference.Kind, _ side: Side, _ decision: DecisionReceipt?) {
        self.differences.append(
            Difference(
                kind: kind,
                operationID: side.operation,
                question: side.facts.key,
                questionState: side.facts.state,
                answer: side.answer,
                verdict: decision?.intent.verdict
            )
        )
    }
}

extension DecisionReceipt {
    /// Indicates that the bank may have carried it out.
    fileprivate var mayCount: Bool {
        switch self.outcome?.result {
        case .refused, .notFollowed: false
        case nil, .accepted, .unanswered, .followed, .inferred, .unknown: true
        }
    }

    /// Indicates that the one who decided knows that the bank carried it out.
    fileprivate var isCertain: Bool {
        switch self.outcome?.result {
        case .accepted, .followed, .inferred: true
        case nil, .refused, .notFollowed, .unanswered, .unknown: false
        }
    }
}

extension ChainReconciliation.Difference {
    /// The name of a kind of difference. A struct, so that a new kind breaks nobody's `switch`.
    public struct Kind: Sendable, Hashable, CustomStringConvertible {
        /// The name.
        public let description: String

        /// The asker acted by an approval that the deciding chain does not have, or has as a rejection.
        public static let actedWithoutApproval = Self(description: "actedWithoutApproval")
        /// The operation was approved, and the asker never saw it.
        public static let approvalUnseen = Self(description: "approvalUnseen")
        /// Other data were signed than those that were asked.
        public static let otherData = Self(description: "otherData")
        /// One side has an approval, and the other one a rejection. Nothing was done by it.
        public static let otherVerdict = Self(description: "otherVerdict")
        /// The asker has an answer that the deciding chain does not have. Nothing was done by it.
        public static let decisionMissing = Self(description: "decisionMissing")
        /// An operation was decided that the asking chain does not have.
        public static let questionMissing = Self(description: "questionMissing")
    }
}

extension ChainReconciliation.Difference: CustomStringConvertible {
    /// The kind, the operation and a sentence.
    public var description: String {
        "\(self.kind) \(DisplayText.escaped(self.operationID, limit: 64)): \(self.sentence)"
    }

    /// The difference, in a sentence for people.
    public var sentence: String {
        let asker =
            "the asker says '\(self.answer ?? "nothing")', and its question ended as '\(self.questionState ?? "")'"
        let decider = self.verdict.map { "the one who decided says '\($0.rawValue)'" } ?? "no decision is there"
        return switch self.kind {
        case .otherData: "other data were signed than those that were asked"
        case .questionMissing:
            "\(decider), and no question is there: nobody asked it, it is not over yet, or its receipt is lost"
        default: "\(asker); \(decider)"
        }
    }
}
