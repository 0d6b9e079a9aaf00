import Basics
import ExactJSON

extension UserOperation.Attribute {
    /// Returns a member's attributes: empty if it is absent, empty with an issue if it is no list.
    static func list(_ name: String, of view: JSONView, _ log: inout IssueLog) -> [UserOperation.Attribute] {
        guard let array = view.optional(name, .array, &log) else { return [] }
        return log.inside(name) { log in
            log.elements(of: array) { (view, log) throws(DecodingIssue) in try Self.read(view, &log) }
        }
    }

    /// Reads an attribute. One without its type's required members becomes unknown, with an issue; one with neither identifier
    /// nor label is refused.
    private static func read(
        _ view: JSONView,
        _ log: inout IssueLog
    ) throws(DecodingIssue) -> UserOperation.Attribute? {
        do throws(DecodingIssue) {
            return try UserOperation.Attribute(view, &log)
        } catch {
            let (id, label) = (view["id"]?.string, view["label"]?.string)
            guard id != nil || label != nil else { throw error }
            log.report(error)
            var rest = log.forPart()  // what it lacks is reported already
            guard let json = rest.json(view) else { return nil }
            return UserOperation.Attribute(
                id: id,
                label: label,
                content: .unknown(type: view["type"]?.string, json: json)
            )
        }
    }

    /// Reads an attribute in its type's form; an unknown type needs only identifier and label.
    init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        guard view.isObject else { throw log.issue(.unreadable(expected: "an attribute"), at: view) }
        let type = try view.required("type", .string, log)
        self.id = view.optional("id", .string, &log)
        self.label = view.optional("label", .string, &log)
        // Servers omit one or the other; without both the attribute cannot be named.
        guard self.id != nil || self.label != nil else { throw log.issue(.missing, member: "id") }
        self.content = try Content(type: type, view, &log)
    }
}

extension UserOperation.Attribute.Content {
    fileprivate init(type: String, _ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        switch ExactString(type) {
        case "AMOUNT": self = .amount(try UserOperation.Attribute.Money(view, .plain, &log))
        case "AMOUNT_CONVERSION":
            self = .amountConversion(
                source: try UserOperation.Attribute.Money(view, .source, &log),
                target: try UserOperation.Attribute.Money(view, .target, &log),
                isDynamic: try view.required("dynamic", .flag, log)
            )
        case "KEY_VALUE": self = .keyValue(try view.required("value", .string, log))
        case "NOTE": self = .note(try view.required("note", .string, log))
        case "HEADING": self = .heading(level: view.optional("level", .integer, &log))
        case "PARTY_INFO":
            let party = try view.required("partyInfo", .object, log)
            self = .partyInfo(
                log.inside("partyInfo") { log in UserOperation.Attribute.PartyInfo(party, &log) }
            )
        case "IMAGE":
            self = .image(
                thumbnailURL: try view.required("thumbnailUrl", .string, log),
                originalURL: view.optional("originalUrl", .string, &log)
            )
        case "ALERT": self = .alert(try UserOperation.Attribute.Alert(view, &log))
        default:
            self = .unknown(type: type, json: .object(log.members(of: view)))
        }
    }
}

extension UserOperation.Attribute.Money {
    /// The member names of an amount.
    struct Names {
        let amount: String
        let currency: String
        let amountFormatted: String
        let currencyFormatted: String
        let valueFormatted: String

        static let plain = Self(prefix: "")
        static let source = Self(prefix: "source")
        static let target = Self(prefix: "target")

        private init(prefix: String) {
            func name(_ name: String) -> String {
                prefix.isEmpty ? name : prefix + name.prefix(1).uppercased() + name.dropFirst()
            }
            self.amount = name("amount")
            self.currency = name("currency")
            self.amountFormatted = name("amountFormatted")
            self.currencyFormatted = name("currencyFormatted")
            self.valueFormatted = name("valueFormatted")
        }
    }

    /// Reads an amount, exactly or not at all. Of each pair, raw and formatted, one is required: old servers send only the raw
    /// member, new ones may send only the formatted one.
    fileprivate init(_ view: JSONView, _ names: Names, _ log: inout IssueLog) throws(DecodingIssue) {
        let amount = try view.ifPresent(names.amount, .amount, log)
        let currency = try view.ifPresent(names.currency, .string, log)
        let amountFormatted =
            view.optional(names.amountFormatted, .string, &log) ?? amount?.plainDigits
        let currencyFormatted = view.optional(names.currencyFormatted, .string, &log) ?? currency
        guard let amountFormatted else { throw log.issue(.missing, member: names.amount) }
        guard let currencyFormatted else { throw log.issue(.missing, member: names.currency) }
        self.init(
            amount: amount?.value,
            digits: amount?.digits,
            currency: currency,
            amountFormatted: amountFormatted,
            currencyFormatted: currencyFormatted,
            valueFormatted: view.optional(names.valueFormatted, .string, &log)
        )
    }
}

extension UserOperation.Attribute.PartyInfo {
    fileprivate init(_ view: JSONView, _ log: inout IssueLog) {
        self.logoURL = view.optional("logoUrl", .string, &log)
        self.name = view.optional("name", .string, &log)
        self.description = view.optional("description", .string, &log)
        self.websiteURL = view.optional("websiteUrl", .string, &log)
    }
}

extension UserOperation.Attribute.Alert {
    fileprivate init(_ view: JSONView, _ log: inout IssueLog) throws(DecodingIssue) {
        self.kind = try view.required("alertType", .known, log)
        self.message = view.optional("message", .string, &log)
        self.title = view.optional("title", .string, &log)
    }
}
