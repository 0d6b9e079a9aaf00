import CommandLineSupport
import Foundation
import MobileToken
import MobileTokenReceipts

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

extension ChainReconciliation {
    var document: JSONValue {
        func number(_ count: Int) -> JSONValue { .number(JSONNumber(count)) }
        return [
            "differences": .array(self.differences.map(\.document)),
            "agreeing": number(self.agreeingCount),
            "otherDevices": number(self.otherDeviceCount),
            "uncovered": number(self.uncoveredCount),
            "erased": number(self.erasedCount),
            "undetermined": number(self.undeterminedCount),
            "from": self.period.map { .date($0.lowerBound) } ?? .null,
            "to": self.period.map { .date($0.upperBound) } ?? .null,
        ]
    }

    var page: String {
        let counts = [
            (self.otherDeviceCount, "of other devices"), (self.uncoveredCount, "outside of the time that both cover"),
            (self.erasedCount, "erased"), (self.undeterminedCount, "undetermined"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let period = self.period.map {
            "Both cover \($0.lowerBound.formatted(.iso8601)) to \($0.upperBound.formatted(.iso8601))."
        }
        let summary =
            "Operations that agree: \(self.agreeingCount); differences: \(self.differences.count)"
            + (counts.isEmpty ? "." : "; not comparable: \(counts.joined(separator: ", ")).")
        return
            (self.differences.map { TextTable.printable($0.description) }
            + [summary, period ?? "There is no time that both cover."]).joined(separator: "\n")
    }
}

extension ChainReconciliation.Difference {
    fileprivate var document: JSONValue {
        [
            "kind": .string(self.kind.description),
            "operation": .string(self.operationID),
            "question": .optional(self.question),
            "state": .optional(self.questionState),
            "answer": .optional(self.answer),
            "verdict": .optional(self.verdict?.rawValue),
            "sentence": .string(self.sentence),
        ]
    }
}
