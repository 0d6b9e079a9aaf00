import ExactJSON
import Foundation
import MobileTokenReceipts
import PowerAuth
import PowerAuthCrypto
import PowerAuthProtocol
import Testing

/// The comparison of a receipt of a question with a receipt of its decision.
struct ChainReconciliationTests {
    private static let binding = [UInt8](repeating: 7, count: 32)
    private static let data = "A9*N1*R" + Base64URL.encode(Self.binding)
    private static let period = Date.distantPast...Date.distantFuture

    private static func question(_ state: String, _ answer: String?, data: String? = Self.data, device: String = "ours")
        -> QuestionReceipt
    {
        var json: JSONObject = ["operation": "op", "registration": .string(device)]
        json["answer"] = answer.map { .string($0) }
        json["data"] = data.map { .string($0) }
        return QuestionReceipt(
            QuestionReceipt.Facts(
                audience: "test",
                key: "k",
                state: state,
                code: nil,
                asked: Date(),
                ended: Date(),
                seconds: 300,
                actionDigest: [1],
                bindings: [Self.binding]
            ),
            questions: ["{}"],
            answers: [json]
        )
    }

    private static func decision(
        _ verdict: DecisionIntent.Verdict = .approve,
        _ result: DecisionOutcome.Result? = .accepted,
        data: String = Self.data
    ) -> DecisionReceipt {
        let intent = DecisionIntent(
            activationID: "ours",
            operationID: "op",
            verdict: verdict,
            reason: nil,
            factors: .possessionKnowledge,
            shown: nil,
            signed: data,
            serverDate: nil
        )
        return DecisionReceipt(
            number: 1,
            intent: DecisionReceipt.Intent(intent, moves: 1),
            outcome: result.map { DecisionOutcome($0, localDate: Date(), serverDate: nil) }
        )
    }

    private static func erased(_ receipt: DecisionReceipt) -> DecisionReceipt {
        DecisionReceipt(number: receipt.number, intent: receipt.intent.erased, outcome: receipt.outcome)
    }

    private static func found(
        _ questions: [QuestionReceipt],
        _ decisions: [DecisionReceipt],
        in period: ClosedRange<Date>? = Self.period
    ) -> String {
        let result = ChainReconciliation(questions: questions, decisions: decisions, period: period)
        let counts = [
            "agrees": result.agreeingCount, "other device": result.otherDeviceCount, "uncovered": result.uncoveredCount,
            "erased": result.erasedCount, "undetermined": result.undeterminedCount,
        ]
        let names = counts.filter { $0.value > 0 }.keys.sorted()
        return (result.differences.map(\.kind.description) + names).joined(separator: ", ")
    }

    private static let pairs: [(QuestionReceipt?, DecisionReceipt?, found: String)] = [
        (question("done", "approved"), decision(), "agrees"),
        (question("rejected", "rejected"), decision(.reject), "agrees"),
        // A server that hides the data hides no binding from the one who decided.
        (question("done", "approved", data: nil), decision(), "agrees"),
        (question("done", "approved", data: nil), decision(data: "A9*N1*R0"), "otherData"),
        (question("done", "approved"), decision(data: Self.data + "*X"), "otherData"),
        (question("done", "approved"), decision(.reject), "actedWithoutApproval"),
        (question("lapsed", "approved"), decision(.reject), "otherVerdict"),
        (question("rejected", "rejected"), decision(), "otherVerdict"),
        (
            question("done", "approved"), decision(.approve, .refused(code: "x", serverCode: nil)),
            "actedWithoutApproval"
        ),
        (question("withdrawn", "canceled"), decision(), "approvalUnseen"),
        (question("withdrawn", "canceled"), decision(.approve, .unknown), "undetermined"),
        (question("withdrawn", "canceled"), decision(.reject), "agrees"),
        (question("expired", nil), nil, ""),
        (nil, decision(), "questionMissing"),
        (nil, decision(.approve, .refused(code: "x", serverCode: nil)), ""),
    ]

    @Test(arguments: pairs.indices) func twoReceiptsAgreeOrDiffer(index: Int) {
        let pair = Self.pairs[index]
        #expect(Self.found([pair.0].compactMap(\.self), [pair.1].compactMap(\.self)) == pair.found, "\(index)")
    }

    /// A receipt that one chain lacks is a difference at the place where it would be.
    @Test func whatIsMissingIsNamedWhereItWouldBe() {
        let elsewhere = DecisionReceipt(
            number: 2,
            intent: Self.decision().intent,
            outcome: DecisionOutcome(.refused(code: "x", serverCode: nil), localDate: Date(), serverDate: nil)
        )
        #expect(Self.found([Self.question("done", "approved")], [elsewhere]) == "actedWithoutApproval")
        #expect(Self.found([Self.question("rejected", "rejected")], [elsewhere]) == "decisionMissing")
        #expect(Self.found([Self.question("done", "approved", device: "other")], [elsewhere]) == "other device")
        #expect(Self.found([], [Self.decision()], in: nil) == "uncovered")
        let past = Date.distantPast...Date(timeIntervalSince1970: 0)
        #expect(Self.found([Self.question("done", "approved")], [elsewhere], in: past) == "uncovered")
    }

    @Test func whatWasErasedIsNoDifference() {
        let erased = Self.erased(Self.decision())
        #expect(Self.found([Self.question("done", "approved")], [erased]) == "erased")
        #expect(Self.found([], [erased]) == "erased")
    }

    /// A question that was interrupted, and settled afterwards, has two receipts.
    @Test func aSettledQuestionCountsOnce() {
        let receipts = [Self.question("unknown", "approved"), Self.question("settled", "approved")]
        let result = ChainReconciliation(questions: receipts, decisions: [Self.decision()], period: Self.period)
        #expect(result.agreeingCount == 1 && result.differences == [])
    }
}
