import CommandLineSupport
import ExactJSON
import Foundation
import MobileTokenApprovals

extension ApprovalTicket {
    /// The question in the form of `--json`.
    var document: JSONValue {
        [
            "id": .string(self.id),
            "state": .string(self.state.rawValue),
            "fingerprints": .object(
                JSONObject(
                    self.fingerprints.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: .string($0.value)) }
                )
            ),
            "asked": .date(self.asked),
            "expires": .date(self.expires),
            "reason": .optional(self.reason),
            "settlement": self.settlement.map { settlement in
                [
                    "outcome": .string(settlement.outcome.rawValue),
                    "by": .string(settlement.person),
                    "date": .date(settlement.date),
                ]
            } ?? .null,
        ]
    }
}

extension [ApprovalTicket] {
    var table: String {
        var table = TextTable(header: "ID", "STATE", "ASKED", "UNTIL", "PEOPLE", "REASON")
        for ticket in self {
            let settled = ticket.settlement.map { "\($0.outcome.rawValue), says \($0.person)" }
            table.add(
                ticket.id,
                ticket.state.rawValue,
                ticket.asked.formatted(.iso8601),
                ticket.expires.formatted(.iso8601),
                ticket.fingerprints.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", "),
                settled ?? ticket.reason ?? ""
            )
        }
        return table.text
    }
}
