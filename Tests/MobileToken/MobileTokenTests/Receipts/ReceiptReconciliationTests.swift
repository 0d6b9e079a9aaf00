import Foundation
import PowerAuth
import Testing

@testable import MobileToken
@testable import MobileTokenReconciliation

/// The statements of a bank's history about receipts.
struct ReceiptReconciliationTests {
    private static let began = UserOperation.sampleDate

    private static func operation(_ id: String, _ status: UserOperation.Status, began: Date = Self.began)
        -> UserOperation
    {
        UserOperation(id: id, name: "payment", data: "A1*A100CZK", status: status, created: began)
    }

    private static func receipt(
        _ number: UInt64,
        _ result: DecisionOutcome.Result?,
        of operationID: String = "op",
        approves: Bool = true,
        activation: String = "ours",
        began: Date = Self.began,
        serverDate: Date? = nil
    ) -> DecisionReceipt {
        let intent = DecisionIntent(
            activationID: activation,
            operationID: operationID,
            verdict: approves ? .approve : .reject,
            reason: approves ? nil : "UNKNOWN",
            factors: .possessionKnowledge,
            shown: Self.operation(operationID, .pending, began: began).json,
            signed: "A1*A100CZK",
            serverDate: serverDate
        )
        return DecisionReceipt(
            number: number,
            intent: DecisionReceipt.Intent(intent, moves: number),
            outcome: result.map { DecisionOutcome($0, localDate: Date(), serverDate: nil) }
        )
    }

    private static func reconcile(
        _ receipts: [DecisionReceipt],
        _ operations: [UserOperation],
        since: Date? = nil,
        before: [DecisionReceipt]? = nil,
        over: [DecisionReceipt] = []
    ) -> ReceiptReconciliation {
        ReceiptReconciliation(
            of: receipts,
            activationID: "ours",
            with: OperationList(operations: operations),
            since: since,
            readBefore: before,
            over: Set(over.map(\.key))
        )
    }

    private static func found(_ reconciliation: ReceiptReconciliation) -> String {
        let differences = reconciliation.differences.map { difference in
            difference.kind.description + (difference.conclusion.map { " (\($0))" } ?? "")
        }
        let incomparable = reconciliation.incomparable.keys.map(\.rawValue).sorted()
        let agreeing = Array(repeating: "agrees", count: reconciliation.agreeingCount)
        return (agreeing + differences + incomparable).joined(separator: ", ")
    }

    // MARK: One receipt

    private static let results: [String: DecisionOutcome.Result?] = [
        "accepted": .accepted, "inferred": .inferred,
        "refused": .refused(code: "authenticationFailed", serverCode: nil),
        "over": .refused(code: "operationAlreadyFinished", serverCode: nil), "notFollowed": .notFollowed,
        "doubtful": .doubtful(code: "authenticationFailed", serverCode: "X"), "unknown": .unknown,
        "unanswered": .unanswered(code: "timeout"), "followed": .followed, "none": nil,
    ]

    /// Receipt; then what is found when the bank lists it as pending, as decided, as canceled, under a status that nobody knows,
    /// and not at all.
    private static let table = """
        accepted    | notCarriedOut  | agrees                         | notCarriedOut          | missing
        inferred    | wrongInference | agrees                         | wrongInference         | missing
        refused     | agrees         | carriedOut                     | agrees                 | beyondReach
        over        | agrees         | agrees, decidedElsewhere       | agrees                 | beyondReach
        notFollowed | agrees         | carriedOut                     | agrees                 | beyondReach
        unknown     | provable (not followed) | unknownOutcome          | provable (not followed) | beyondReach
        unanswered  | provable (not followed) | unattributed (unknown)  | provable (not followed) | open
        doubtful    | provable (refused (X))  | unattributed (unknown)  | provable (refused (X)) | open
        followed    | open                    | provable (inferred)     | provable (not followed) | open
        none        | provable (not followed) | unattributed (unknown)  | provable (not followed) | open
        """

    @Test(arguments: Self.table.split(separator: "\n").map(String.init), [true, false])
    func aReceiptAndItsOperation(row: String, approves: Bool) throws {
        let cells = row.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
        let result = try #require(Self.results[cells[0]])
        let receipt = Self.receipt(1, result, approves: approves)
        let older = Self.operation("older", .canceled, began: Self.began - 60)
        func found(_ status: UserOperation.Status) -> String {
            Self.found(Self.reconcile([receipt], [Self.operation("op", status), older]))
        }
        let decided: UserOperation.Status = approves ? .approved : .rejected
        #expect(found(.pending) == cells[1])
        #expect(found(decided) == cells[2])
        for status in [UserOperation.Status.canceled, .expired, .failed] { #expect(found(status) == cells[3]) }
        #expect(found(.unknown("NEW")) == "unrecognizedStatus")
        #expect(Self.found(Self.reconcile([receipt], [older])) == cells[4])
        // The other way round it was decided by somebody else, besides.
        let opposite = found(approves ? .rejected : .approved)
        #expect(
            opposite == "\(cells[3]), decidedElsewhere"
                || cells[3] == "agrees" && opposite == "agrees, decidedElsewhere"
        )
    }

    /// Of an operation that the server says is over, the history tells how, or nothing ever will.
    @Test func whatIsOverIsNotLeftOpen() {
        let receipt = Self.receipt(1, .followed)
        func found(_ status: UserOperation.Status?) -> String {
            Self.found(Self.reconcile([receipt], status.map { [Self.operation("op", $0)] } ?? [], over: [receipt]))
        }
        for status in [nil, .pending, .unknown("NEW")] as [UserOperation.Status?] {
            #expect(found(status) == "open (unknown)")
        }
        #expect(found(.approved) == "provable (inferred)")
        #expect(found(.expired) == "provable (not followed)")
    }

    // MARK: Several receipts

    @Test func aSecondAttemptExplainsTheFirst() {
        for first in [.notFollowed, .refused(code: "authenticationFailed", serverCode: nil)] as [DecisionOutcome.Result]
        {
            let receipts = [Self.receipt(1, first), Self.receipt(2, .accepted)]
            #expect(Self.found(Self.reconcile(receipts, [Self.operation("op", .approved)])) == "agrees, agrees")
        }
        let receipts = [Self.receipt(1, .unknown), Self.receipt(2, .accepted)]
        #expect(
            Self.found(Self.reconcile(receipts, [Self.operation("op", .approved)]))
                == "agrees, provable (not followed)"
        )
    }

    @Test func twoReceiptsThatClaimOneOperationAreNamed() {
        let receipts = [Self.receipt(1, .accepted), Self.receipt(2, .inferred)]
        let reconciliation = Self.reconcile(receipts, [Self.operation("op", .approved)])
        #expect(reconciliation.differences.map(\.kind) == [.claimedTwice])
        #expect(reconciliation.differences.first?.receipts == receipts)
        #expect(Self.reconcile(receipts, []).differences.map(\.kind) == [.claimedTwice])
    }

    @Test func whatFollowedIsInferredOnlyWhenNobodyElseClaimsIt() {
        let receipts = [Self.receipt(1, .followed), Self.receipt(2, .inferred)]
        #expect(
            Self.found(Self.reconcile(receipts, [Self.operation("op", .approved)])) == "agrees, unattributed (unknown)"
        )
    }

    // MARK: Decisions without a receipt

    @Test func aDecisionWithoutAReceiptWasMadeElsewhere() {
        let operations = [
            Self.operation("a", .approved), Self.operation("b", .rejected), Self.operation("c", .canceled),
            Self.operation("d", .expired), Self.operation("e", .pending), Self.operation("f", .failed),
        ]
        let reconciliation = Self.reconcile([], operations)
        #expect(reconciliation.differences.map(\.kind) == [.decidedElsewhere, .decidedElsewhere])
        #expect(reconciliation.differences.map(\.operationID) == ["a", "b"])
        #expect(Self.reconcile([], operations, since: Self.began + 1).differences.isEmpty)
        #expect(Self.reconcile([], operations, since: Self.began).differences.count == 2)
    }

    @Test func identifiersAreComparedExactly() {
        let composed = Self.receipt(1, .accepted, of: "caf\u{E9}")
        let reconciliation = Self.reconcile([composed], [Self.operation("cafe\u{301}", .approved)])
        #expect(reconciliation.differences.map(\.kind) == [.decidedElsewhere])
        #expect(reconciliation.incomparable == [.beyondReach: [1]])
    }

    @Test func anErasedReceiptMayBeOfAnyDecisionOfItsDay() {
        func erased(_ serverDate: Date?, approves: Bool = true) -> DecisionReceipt {
            let receipt = Self.receipt(1, .accepted, approves: approves, serverDate: serverDate)
            return DecisionReceipt(number: 1, intent: receipt.intent.erased, outcome: receipt.outcome)
        }
        func kinds(_ receipt: DecisionReceipt) -> [ReceiptReconciliation.Difference.Kind] {
            Self.reconcile([receipt], [Self.operation("op", .approved)]).differences.map(\.kind)
        }
        #expect(kinds(erased(nil)) == [])
        #expect(kinds(erased(Self.began + 100)) == [])
        #expect(kinds(erased(Self.began + 10 * 86_400)) == [.decidedElsewhere])
        #expect(kinds(erased(Self.began + 100, approves: false)) == [.decidedElsewhere])
        #expect(Self.reconcile([erased(nil)], []).incomparable == [.erased: [1]])
    }

    // MARK: What proves nothing

    @Test func whatTheHistoryDoesNotReachIsNotCompared() {
        let newer = Self.operation("newer", .canceled, began: Self.began + 1)
        let same = Self.operation("same", .canceled)
        #expect(Self.found(Self.reconcile([Self.receipt(1, .accepted)], [newer])) == "beyondReach")
        #expect(Self.found(Self.reconcile([Self.receipt(1, .accepted)], [same])) == "beyondReach")
        #expect(Self.found(Self.reconcile([Self.receipt(1, .accepted)], [])) == "beyondReach")
    }

    @Test func whatCouldNotBeReadMayBeTheOneThatIsMissing() throws {
        let older = Self.operation("older", .canceled, began: Self.began - 60)
        let list = try OperationList(
            response: Array(
                #"{"status":"OK","responseObject":[{"id":1},\#(String(decoding: older.json, as: UTF8.self))]}"#.utf8
            )
        )
        let receipt = Self.receipt(1, .accepted)
        #expect(!list.issues.isEmpty)
        let reconciliation = ReceiptReconciliation(of: [receipt], activationID: "ours", with: list)
        #expect(Self.found(reconciliation) == "beyondReach")
    }

    @Test func whatWasWrittenMeanwhileIsNotCompared() {
        let operation = Self.operation("op", .pending)
        let (open, accepted) = (Self.receipt(1, nil), Self.receipt(1, .accepted))
        #expect(Self.found(Self.reconcile([accepted], [operation], before: [])) == "justWritten")
        #expect(Self.found(Self.reconcile([accepted], [operation], before: [open])) == "justWritten")
        #expect(Self.found(Self.reconcile([accepted], [operation], before: [accepted])) == "notCarriedOut")
        // Nor is it missing: the decision has its receipt.
        let approved = Self.operation("op", .approved)
        #expect(Self.found(Self.reconcile([accepted], [approved], before: [])) == "justWritten")
    }

    @Test func clocksMakeNoDifference() {
        for hours in [-26.0, -1, 1, 14, 10_000] {
            let receipt = Self.receipt(1, .accepted, serverDate: Self.began + hours * 3_600)
            #expect(Self.found(Self.reconcile([receipt], [Self.operation("op", .approved)])) == "agrees")
        }
    }

    // MARK: Several activations

    @Test func anotherActivationsReceiptCountsWhereTheHistoryHasItsOperation() {
        let theirs = Self.receipt(1, .accepted, activation: "theirs")
        #expect(Self.found(Self.reconcile([theirs], [Self.operation("op", .approved)])) == "agrees")
        #expect(Self.found(Self.reconcile([theirs], [Self.operation("op", .canceled)])) == "notCarriedOut")
        let older = Self.operation("older", .canceled, began: Self.began - 60)
        for result in [.accepted, nil] as [DecisionOutcome.Result?] {
            #expect(Self.found(Self.reconcile([Self.receipt(1, result, activation: "theirs")], [older])) == "")
        }
    }

    @Test func everyDifferenceHasASentence() {
        let receipts = [
            Self.receipt(1, .accepted, of: "a"), Self.receipt(2, nil, of: "b"), Self.receipt(3, .unknown, of: "c"),
            Self.receipt(4, .accepted, of: "evil\u{1B}[2J"),
        ]
        let operations = [
            Self.operation("a", .expired), Self.operation("c", .canceled), Self.operation("d", .approved),
            Self.operation("evil\u{1B}[2J", .unknown("\u{202E}")), Self.operation("evil\u{1B}[2J", .canceled),
            Self.operation("e\u{1B}", .rejected),
        ]
        let lines = Self.reconcile(receipts, operations).differences.map(\.description)
        #expect(
            lines == [
                "notCarriedOut a: receipt 1 says approve: accepted, and the bank lists it as EXPIRED",
                "open b: receipt 2 says approve: open; the history does not have the operation",
                "provable c: receipt 3 says approve: unknown; the bank lists it as CANCELED, so it is not followed",
                """
                decidedElsewhere d: the bank lists it as APPROVED, and no receipt is there: it was decided elsewhere, or its \
                receipt is lost
                """,
                """
                decidedElsewhere e\\u{1B}: the bank lists it as REJECTED, and no receipt is there: it was decided elsewhere, \
                or its receipt is lost
                """,
            ]
        )
    }
}
