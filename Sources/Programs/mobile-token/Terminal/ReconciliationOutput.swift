import CommandLineSupport
import DecisionReceipts
import ExactJSON
import MobileToken
import MobileTokenReconciliation

extension ReceiptReconciliation {
    var document: JSONValue {
        [
            "differences": .array(self.differences.map(\.document)),
            "settled": .array(self.settled.map(\.document)),
            "agreeing": .number(JSONNumber(self.agreeingCount)),
            "incomparable": .object(
                JSONObject(
                    Incomparability.allCases.map { reason in
                        let numbers = self.incomparable[reason, default: []].map { JSONValue.number(JSONNumber($0)) }
                        return JSONObject.Member(key: reason.rawValue, value: .array(numbers))
                    }
                )
            ),
        ]
    }

    var page: String {
        let incomparable = Incomparability.allCases.compactMap { reason in
            self.incomparable[reason].map { "\($0.count) \(reason.rawValue)" }
        }
        let differences = self.differences.map { TextTable.printable($0.description) }
        let settled = self.settled.map { "settled: " + TextTable.printable($0.description) }
        let summary =
            "Receipts that agree with the bank: \(self.agreeingCount); differences: \(self.differences.count)"
            + (incomparable.isEmpty ? "." : "; not comparable: \(incomparable.joined(separator: ", ")).")
        return (differences + settled + [summary]).joined(separator: "\n")
    }
}

extension ReceiptReconciliation.Difference {
    fileprivate var document: JSONValue {
        [
            "kind": .string(self.kind.description),
            "operation": .optional(self.operationID),
            "status": .optional(self.status?.rawValue),
            "receipts": .array(self.receipts.map { .number(JSONNumber($0.number)) }),
            "conclusion": .optional(self.conclusion?.description),
            "sentence": .string(self.sentence),
        ]
    }
}
