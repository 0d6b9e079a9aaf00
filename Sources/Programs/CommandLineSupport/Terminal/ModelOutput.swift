import Basics
package import Foundation
package import MobileToken
package import ExactJSON
import MobileTokenNotifications

// The SDK's values in the form of `--json`: flat names, dates in ISO 8601, no secrets.

extension JSONValue {
    package static func date(_ date: Date) -> Self { .string(date.formatted(.iso8601)) }

    package static func optional(_ string: String?) -> Self { string.map { .string($0) } ?? .null }
}

extension UserOperation {
    package var document: JSONValue {
        [
            "id": .string(self.id),
            "name": .string(self.name),
            "status": .string(self.status.rawValue),
            "statusReason": .optional(self.statusReason),
            "title": .string(self.formData.title),
            "message": .string(self.formData.message),
            "data": .string(self.data),
            "created": .date(self.created),
            "expires": .date(self.expires),
            "factors": .array(self.allowedSignatureType.acceptedVariants.map { .string($0.rawValue) }),
            "attributes": .array(self.formData.attributes.map(\.document)),
            "ui": self.ui?.document(review: self.reviewAttributes) ?? .null,
            "resultTexts": self.formData.resultTexts?.document ?? .null,
        ]
    }

    /// The whole operation, for the deciding person.
    package var page: String {
        var lines = [self.formData.title, self.formData.message].map { DisplayText.escaped($0, limit: .max) } + [""]
        var table = TextTable(header: "id", TextTable.printable(self.id))
        table.add("name", self.name)
        table.add("status", self.status.rawValue + (self.statusReason.map { " (\($0))" } ?? ""))
        table.add("created", self.created.formatted(.iso8601))
        table.add("expires", self.expires.formatted(.iso8601))
        for attribute in self.formData.attributes {
            table.addWhole(attribute.label ?? attribute.id ?? "", attribute.text)
        }
        lines.append(table.text)
        return lines.joined(separator: "\n")
    }
}

extension OperationList {
    /// The operations for people. A list with only unreadable operations is not empty.
    package var table: String {
        guard self.operations.isEmpty, !self.unreadable.isEmpty else { return self.operations.table }
        return "No operation that can be read; not read: \(self.unreadable.count)."
    }

    /// The lines about unreadable parts: operations by their identifiers, and parts of listed ones.
    package var notRead: [String] {
        let operations = Set(self.unreadable.map(\.issue))
        let parts = self.issues.filter { !operations.contains($0) }.map(\.description)
        let rest = self.omittedIssueCount > 0 ? ["\(self.omittedIssueCount) more"] : []
        return (self.unreadable.map(\.description) + parts + rest).map { TextTable.printable("not read: \($0)") }
    }

    /// The limit if the list may be incomplete; `nil` otherwise.
    package var limit: ListLimit? {
        // An unreadable operation also counts toward the limit.
        let count = self.operations.count + self.unreadable.count
        return count >= 100 ? ListLimit(count: 100, text: "the server lists 100 operations at most") : nil
    }
}

/// The maximum length of a list, which may have been cut.
package struct ListLimit {
    let count: Int
    let text: String

    package init(count: Int, text: String) {
        self.count = count
        self.text = "\(text): there may be more"
    }
}

extension Output {
    /// Notes on standard error that a list may be incomplete.
    package func note(_ limit: ListLimit?) {
        guard let limit else { return }
        guard self.isJSON else { return Self.note("\(CommandLineProgram.name): \(limit.text)") }
        Self.note(
            ["note": ["code": "listLimit", "limit": .number(JSONNumber(limit.count)), "message": .string(limit.text)]]
        )
    }
}

extension [UserOperation] {
    package var table: String {
        guard !self.isEmpty else { return "No operations." }
        var table = TextTable(header: "ID", "STATUS", "EXPIRES", "TITLE")
        for operation in self {
            table.add(
                operation.id,
                operation.status.rawValue,
                operation.expires.formatted(.iso8601),
                operation.formData.title
            )
        }
        return table.text
    }
}

extension OperationList.Change {
    package var document: JSONValue {
        [
            "source": .string(self.source.description),
            "operations": .array(self.operations.map(\.document)),
            "added": .array(self.added.map { .string($0.id) }),
            "updated": .array(self.updated.map { .string($0.new.id) }),
            "removed": .array(
                self.removed.map { ["id": .string($0.operation.id), "reason": .string($0.reason.description)] }
            ),
        ]
    }

    /// A line for each added, updated or removed operation.
    package var lines: [String] {
        func line(_ mark: String, _ operation: UserOperation, _ note: String = "") -> String {
            "\(mark) \(TextTable.printable(operation.id))  \(TextTable.printable(operation.formData.title))\(note)"
        }
        return self.added.map { line("+", $0) } + self.updated.map { line("~", $0.new) }
            + self.removed.map { line("-", $0.operation, "  (\($0.reason))") }
    }
}

extension UserOperation.Attribute {
    /// The attribute with every part that a script may need. `value` is the string for people.
    var document: JSONValue {
        var document: JSONObject = [
            "id": .optional(self.id), "label": .optional(self.label), "type": .string(self.typeName),
            "value": .string(self.text),
        ]
        switch self.content {
        case .amount(let money): document.members += money.document.members
        case .amountConversion(let source, let target, let isDynamic):
            document["source"] = .object(source.document)
            document["target"] = .object(target.document)
            document["isDynamic"] = .bool(isDynamic)
        case .partyInfo(let party):
            document["name"] = .optional(party.name)
            document["description"] = .optional(party.description)
            document["websiteUrl"] = .optional(party.websiteURL)
            document["logoUrl"] = .optional(party.logoURL)
        case .alert(let alert):
            document["alertType"] = .string(alert.kind.rawValue)
            document["title"] = .optional(alert.title)
        case .unknown(_, let json): document["content"] = json
        case .heading(let level): document["level"] = level.map { .number(JSONNumber($0)) } ?? .null
        case .keyValue, .note, .image: break
        }
        return .object(document)
    }

    /// The server's name of the attribute's type.
    private var typeName: String {
        switch self.content {
        case .amount: "AMOUNT"
        case .amountConversion: "AMOUNT_CONVERSION"
        case .keyValue: "KEY_VALUE"
        case .note: "NOTE"
        case .heading: "HEADING"
        case .partyInfo: "PARTY_INFO"
        case .image: "IMAGE"
        case .alert: "ALERT"
        case .unknown(let type, _): type ?? "UNKNOWN"
        }
    }

    /// The attribute on one line.
    package var text: String {
        switch self.content {
        case .amount(let money): money.text
        case .amountConversion(let source, let target, _): "\(source.text) = \(target.text)"
        case .keyValue(let text), .note(let text): text
        case .heading: ""
        case .partyInfo(let party):
            [party.name, party.description.map { "(\($0))" }, party.websiteURL].compactMap { $0 }.joined(separator: " ")
        case .image(let thumbnailURL, let originalURL): "(a picture: \(originalURL ?? thumbnailURL))"
        case .alert(let alert):
            ([alert.kind.rawValue] + [alert.title, alert.message].compactMap { $0 }).joined(separator: ": ")
        case .unknown(_, let json): String(decoding: json.serialized(), as: UTF8.self)
        }
    }
}

extension UserOperation.Attribute.Money {
    /// The amount as a number with the server's digits; `null` if the server sent only a string for people.
    fileprivate var document: JSONObject {
        [
            "amount": self.number.map { .number($0) } ?? .null,
            "currency": .optional(self.currency),
        ]
    }
}

extension InboxMessage {
    package var document: JSONValue {
        [
            "id": .string(self.id),
            "subject": .string(self.subject),
            "summary": .optional(self.summary),
            "body": .optional(self.body),
            "type": .string(self.contentType.rawValue),
            "read": .bool(self.isRead),
            "created": .date(self.created),
        ]
    }

    package var page: String {
        [self.subject, self.body ?? self.summary ?? ""].map(TextTable.printable).joined(separator: "\n\n")
    }
}

extension [InboxMessage] {
    package var table: String {
        guard !self.isEmpty else { return "No messages." }
        var table = TextTable(header: "ID", "READ", "CREATED", "SUBJECT")
        for message in self {
            table.add(message.id, message.isRead ? "yes" : "no", message.created.formatted(.iso8601), message.subject)
        }
        return table.text
    }
}
