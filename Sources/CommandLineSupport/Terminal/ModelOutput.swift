package import Foundation
package import MobileToken
package import ExactJSON

// The SDK's values as `--json` shows them: flat names, dates in ISO 8601, nothing secret.

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
            "factors": .array(self.allowedSignatureType.variants.map { .string($0.rawValue) }),
            "attributes": .array(self.formData.attributes.map(\.document)),
        ]
    }

    /// The whole operation, for a person who decides.
    package var page: String {
        var lines = [
            TextTable.printable(self.formData.title),
            TextTable.printable(self.formData.message),
            "",
        ]
        var table = TextTable(header: "id", TextTable.printable(self.id))
        table.add("name", self.name)
        table.add("status", self.status.rawValue + (self.statusReason.map { " (\($0))" } ?? ""))
        table.add("created", self.created.formatted(.iso8601))
        table.add("expires", self.expires.formatted(.iso8601))
        for attribute in self.formData.attributes { table.add(attribute.label ?? "", attribute.text) }
        lines.append(table.text)
        return lines.joined(separator: "\n")
    }
}

extension OperationList {
    /// Tells of more operations than the list can hold; `nil` when there are none.
    package var noteOfItsEnd: String? {
        guard self.operations.count >= Self.serverLimit else { return nil }
        return "the server lists \(Self.serverLimit) operations at most: there may be more"
    }

    /// The most operations that servers list.
    private static let serverLimit = 100
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

    /// A line for each operation that was added, updated or removed.
    package var lines: [String] {
        func line(_ mark: String, _ operation: UserOperation, _ note: String = "") -> String {
            "\(mark) \(TextTable.printable(operation.id))  \(TextTable.printable(operation.formData.title))\(note)"
        }
        return self.added.map { line("+", $0) } + self.updated.map { line("~", $0.new) }
            + self.removed.map { line("-", $0.operation, "  (\($0.reason))") }
    }
}

extension UserOperation.Attribute {
    /// The attribute with every part that a script may decide by. `value` is what a person reads.
    fileprivate var document: JSONValue {
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
            document["name"] = .string(party.name)
            document["description"] = .string(party.description)
            document["websiteUrl"] = .optional(party.websiteURL)
        case .alert(let alert):
            document["alertType"] = .string(alert.kind.rawValue)
            document["title"] = .optional(alert.title)
        case .unknown(_, let json): document["content"] = json
        case .keyValue, .note, .heading, .image: break
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
        case .partyInfo(let party): "\(party.name) (\(party.description))"
        case .image(let thumbnailURL, let originalURL): originalURL ?? thumbnailURL
        case .alert(let alert): "\(alert.kind.rawValue): \(alert.message)"
        case .unknown(_, let json): String(decoding: json.serialized(), as: UTF8.self)
        }
    }
}

extension UserOperation.Attribute.Money {
    /// The amount as a number with every digit; `null` where the server sent only what people read.
    fileprivate var document: JSONObject {
        [
            "amount": self.amount.flatMap { JSONNumber($0) }.map { .number($0) } ?? .null,
            "currency": .optional(self.currency),
        ]
    }

    fileprivate var text: String { self.valueFormatted ?? "\(self.amountFormatted) \(self.currencyFormatted)" }
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
