package import APIDescriptions
import Basics
package import EmulatorMessages
package import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

/// A template for operations of one kind: a JSON document with placeholders, checked on arrival.
///
/// ```json
/// {"name": "login", "data": "A2", "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
///  "parameters": {"party.name": "Example"}, "texts": {"en": {"title": "Log in"}, "cs": {"title": "Přihlášení"}},
///  "formData": {"title": "@{title}", "message": "to ${party.name}", "attributes": []}}
/// ```
/// `parameters` are the values if a request gives none at all, `defaults` those of omitted parameters. `expiresIn` (seconds),
/// `maxFailureCount`, `proximityCheck`, `riskFlags`, `operationType` and `ui` are optional.
package struct OperationTemplate: Sendable {
    /// The template's name in requests.
    package let name: String
    /// The document, unchanged.
    package let document: JSONValue
    /// The `name` that the user's device sees.
    let operationType: String
    let data: String
    let allowedSignature: AllowedSignature
    /// The time to decide, in seconds.
    package let lifetime: Double?
    let maximumFailures: Int?
    package let demandsProximityCheck: Bool
    /// The risk flags, of which real servers know `X`, `C` and `F`.
    let riskFlags: String
    /// The values of omitted parameters. Real servers have none.
    private let defaults: [String: JSONValue]
    /// The values for a request without parameters.
    package let examples: [String: JSONValue]
    package let texts: [String: [String: String]]
    package let formData: JSONValue
    let ui: JSONValue?
    /// The names of the parameters, those of the data first.
    package let parameters: [String]

    /// Reads a template and fills it once in every language, so that errors show before the first request.
    ///
    /// - Throws: The first error with its line.
    package init(parsing json: some Sequence<UInt8>) throws(DocumentMistake) {
        let source = try SourceDocument(parsing: Array(json), as: .template)
        do { try self.init(source.value) } catch { throw source.mistake(error.message, at: error.place) }
    }

    /// Reads a template with a checked form.
    ///
    /// - Throws: The first error with its path.
    package init(_ document: JSONValue) throws(DocumentMistake) {
        let object = document.object ?? [:]
        guard let name = object["name"]?.string, Self.isName(name) else {
            let rule = "letters, digits and . _ - alone, at most 64"
            throw DocumentMistake("'name' is \(rule)", at: object.place(of: "name"))
        }
        guard let allowed = object["allowedSignatureType"], let allowedSignature = AllowedSignature(allowed) else {
            let known = SignatureType.allCases.map(\.rawValue).joined(separator: ", ")
            let message = "'allowedSignatureType.variants' are one or more of \(known)"
            throw DocumentMistake(message, at: object.place(of: "allowedSignatureType"))
        }
        self.name = name
        self.document = document
        self.data = object["data"]?.string ?? ""
        self.allowedSignature = allowedSignature
        self.operationType = object["operationType"]?.string ?? name
        self.lifetime = object["expiresIn"]?.int64.map(Double.init)
        self.maximumFailures = object["maxFailureCount"]?.int64.map { Int(clamping: $0) }
        self.demandsProximityCheck = object["proximityCheck"]?.bool ?? false
        self.riskFlags = object["riskFlags"]?.string ?? ""
        self.defaults = object["defaults"]?.object?.valuesByName ?? [:]
        self.examples = self.defaults.merging(object["parameters"]?.object?.valuesByName ?? [:]) { _, example in example
        }
        self.texts = (object["texts"]?.object?.valuesByName ?? [:]).mapValues { texts in
            (texts.object?.valuesByName ?? [:]).compactMapValues(\.string)
        }
        self.formData = object["formData"] ?? [:]
        self.ui = object["ui"].flatMap { $0.isNull ? Optional<JSONValue>.none : $0 }
        let texts = (self.texts[ReaderLocale.english.language] ?? [:]).sorted { $0.key < $1.key }
        let values = [.string(self.data), self.formData, self.ui ?? .null] + texts.map { .string($0.value) }
        var seen: Set<String> = []
        self.parameters = values.flatMap(Placeholders.parameters(in:)).filter { seen.insert($0).inserted }
        try self.check(object)
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
    }

    private func check(_ object: JSONObject) throws(DocumentMistake) {
        guard self.texts.isEmpty || self.texts[ReaderLocale.english.language] != nil else {
            throw DocumentMistake(
                "texts in '\(ReaderLocale.english.language)' are missing",
                at: object.place(of: "texts")
            )
        }
        for name in ["data", "formData", "ui", "texts"] {
            guard let value = object[name] else { continue }
            do { try Placeholders.checkEnds(in: value) } catch { throw error.inside(object.place(of: name)) }
        }
        for name in ["parameters", "defaults"] {
            guard let member = object[name]?.object?.members.first(where: { Placeholders.text($0.value) == nil }) else {
                continue
            }
            throw DocumentMistake("'\(name).\(member.key.beginning)' is not a string", at: object.place(of: name))
        }
        if let name = self.parameters.first(where: { self.examples[$0] == nil && $0.utf8.contains(UInt8(ascii: ":")) })
        {
            throw DocumentMistake(
                "'${\(name)}' ends in another form than ':number', and there is no parameter '\(name)'"
            )
        }
        for language in self.languages {
            do {
                _ = try self.form(parameters: self.examples, language: language)
            } catch {
                throw error.inside(object.place(of: "formData"))
            }
            do {
                _ = try self.filledUI(parameters: self.examples, language: language)
            } catch {
                throw error.inside(object.place(of: "ui"))
            }
        }
        do { _ = try self.filledData(parameters: self.examples) } catch { throw error.inside(object.place(of: "data")) }
    }

    /// The languages of its texts.
    private var languages: [String] { self.texts.isEmpty ? [ReaderLocale.english.language] : self.texts.keys.sorted() }

    /// Returns an operation's parameters.
    ///
    /// - Parameters:
    ///   - given: The request's parameters; `nil` without any.
    ///   - isExact: `false` to fill missing ones even with the examples.
    func parameters(of given: [String: JSONValue]?, isExact: Bool) -> [String: JSONValue] {
        (given == nil || !isExact ? self.examples : self.defaults).merging(given ?? [:]) { _, asked in asked }
    }

    /// Returns the data to sign. A parameter's value cannot end its field.
    func filledData(parameters: [String: JSONValue]) throws(DocumentMistake) -> String {
        try Placeholders(parameters: parameters) { OfflineText.escaped($0, separator: "*") }.fill(self.data)
    }

    /// Returns the form for the user, before its attributes are processed.
    ///
    /// - Parameter escapesTexts: `true` to escape values in title and message as in JSON, as real servers do.
    func form(
        parameters: [String: JSONValue],
        language: String,
        escapesTexts: Bool = false
    ) throws(DocumentMistake) -> JSONObject {
        let texts = self.texts(in: language)
        let plain = Placeholders(parameters: parameters, texts: texts)
        let escaped = Placeholders(
            parameters: parameters,
            texts: texts,
            escape: escapesTexts ? \.escapedForJSON : { $0 }
        )
        var form: JSONObject = [:]
        for (index, member) in (self.formData.object ?? [:]).members.enumerated() {
            do {
                switch member.key {
                case "title", "message": form[member.key] = try escaped.fill(member.value)
                case "attributes": form[member.key] = try Self.attributes(member.value, plain)
                default: form[member.key] = try plain.fill(member.value)
                }
            } catch {
                throw error.inside([index])
            }
        }
        return form
    }

    private static func attributes(
        _ attributes: JSONValue,
        _ placeholders: Placeholders
    ) throws(DocumentMistake) -> JSONValue {
        var filled: [JSONValue] = []
        for (index, attribute) in (attributes.array ?? []).enumerated() {
            do {
                filled.append(.object(try placeholders.fill(attribute: attribute.object ?? [:])))
            } catch {
                throw error.inside([index])
            }
        }
        return .array(filled)
    }

    /// Returns the filled presentation.
    func filledUI(parameters: [String: JSONValue], language: String) throws(DocumentMistake) -> JSONObject? {
        guard let ui = self.ui else { return nil }
        return try Placeholders(parameters: parameters, texts: self.texts(in: language)).fill(ui).object
    }

    /// Returns the texts in a language; missing translations are in the fallback language.
    private func texts(in language: String) -> [String: String] {
        let fallback = self.texts[ReaderLocale.english.language] ?? [:]
        return fallback.merging(self.texts[language] ?? [:]) { _, translated in translated }
    }
}

extension String {
    /// The string as escaped by Java's `escapeJson`: in ASCII, with a backslash before slashes too.
    fileprivate var escapedForJSON: String {
        var escaped = ""
        for unit in self.utf16 {
            switch unit {
            case 0x22, 0x2F, 0x5C: escaped += "\\" + String(UnicodeScalar(UInt8(unit)))
            case 0x08: escaped += "\\b"
            case 0x09: escaped += "\\t"
            case 0x0A: escaped += "\\n"
            case 0x0C: escaped += "\\f"
            case 0x0D: escaped += "\\r"
            case 0x20...0x7F: escaped += String(UnicodeScalar(UInt8(unit)))
            default:
                let digits = String(unit, radix: 16, uppercase: true)
                escaped += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }
        }
        return escaped
    }
}

/// The factors that may approve an operation.
package struct AllowedSignature: Sendable, Hashable, Codable {
    enum Kind: String, Sendable, Codable, CaseIterable {
        case oneFactor = "1FA"
        case twoFactors = "2FA"
        case deviceKey = "ECDSA"
    }

    var kind: Kind
    var variants: [SignatureType]

    init(kind: Kind, variants: [SignatureType]) {
        self.kind = kind
        self.variants = variants
    }

    /// Reads a type and its variants; one factor is possession, listed or not.
    ///
    /// - Returns: `nil` if the type or a variant is unknown, there is no variant, or a member is repeated.
    init?(_ value: JSONValue) {
        guard value.object?.duplicateKeys.isEmpty == true, let kind = value["type"]?.string.flatMap(Kind.init),
            let listed = value["variants"]?.array
        else {
            return nil
        }
        var variants = listed.compactMap { $0.string.flatMap(SignatureType.init(rawValue:)) }
        guard variants.count == listed.count else { return nil }
        if kind == .oneFactor, variants.isEmpty { variants = [.possession] }
        guard !variants.isEmpty else { return nil }
        self.init(kind: kind, variants: variants)
    }

    /// The factors with real servers' names: one factor whenever possession suffices, otherwise the kinds of two.
    var json: JSONValue {
        let isOneFactor = self.variants.contains(.possession) && self.kind != .deviceKey
        let kind = isOneFactor ? Kind.oneFactor : self.kind == .deviceKey ? .deviceKey : .twoFactors
        let variants = [SignatureType.possessionKnowledge, .possessionBiometry].filter(self.variants.contains)
        return [
            "type": .string(kind.rawValue),
            "variants": .array(isOneFactor ? [] : variants.map { .string($0.rawValue) }),
        ]
    }

    /// Indicates whether these factors suffice: exactly one of the variants.
    func allows(_ type: SignatureType) -> Bool {
        self.variants.contains(type)
    }

    var allowsBiometry: Bool { self.variants.contains { $0.rawValue.contains("biometry") } }
}

extension JSONObject {
    /// Returns the path to a member, or to the object that lacks it.
    func place(of name: String) -> [Int] {
        self.members.firstIndex { $0.key.isExactly(name) }.map { [$0] } ?? []
    }
}

extension Schema {
    /// The schema of an operation template.
    package static let template = Self.object(
        "OperationTemplate",
        [
            .required(
                "name",
                .word,
                "The name that a request asks for; a template of that name is replaced.",
                example: "standing_order"
            ),
            .optional("operationType", .word, "The name that the device sees; that of the template if left out."),
            .required("data", .word, "The data that is signed."),
            .required(
                "allowedSignatureType",
                .allowedSignature,
                example: ["type": "2FA", "variants": ["possession_knowledge"]]
            ),
            .optional(
                "expiresIn",
                .integer(1...31_536_000),
                "The time in which an operation can be decided.",
                unit: .seconds
            ),
            .optional("maxFailureCount", .integer(1...255)), .optional("proximityCheck", .boolean),
            .optional("riskFlags", .string, "X flips buttons, C forbids a decision during a call, F warns of fraud."),
            .optional("parameters", .open(), "The values of ${name} where a request gives no parameters."),
            .optional(
                "defaults",
                .open(),
                "The values of ${name} where a request leaves it out; real servers have none."
            ),
            .optional(
                "texts",
                .object([], others: .object([], others: .string)),
                "The texts of @{name}, by language; en is needed."
            ),
            .required(
                "formData",
                .open([
                    .required("title", .word), .required("message", .word),
                    .optional("attributes", .list(of: .open([.required("type", .word)]))),
                ]),
                "The attributes that the user is shown."
            ),
            .optional("ui", .open(), "The way in which it is shown."),
        ]
    )
}
