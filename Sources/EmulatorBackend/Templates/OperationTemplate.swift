package import APIDescriptions
import Basics
import CloudCalls
package import EmulatorMessages
package import ExactJSON
import PowerAuthProtocol

/// A template for operations of one kind: a JSON document with placeholders, checked when it comes in.
///
/// ```json
/// {"name": "login", "data": "A2", "allowedSignatureType": {"type": "2FA", "variants": ["possession_knowledge"]},
///  "parameters": {"party.name": "Example"}, "texts": {"en": {"title": "Log in"}, "cs": {"title": "Přihlášení"}},
///  "formData": {"title": "@{title}", "message": "to ${party.name}", "attributes": []}}
/// ```
/// `parameters` are the values of parameters that a request leaves out. `expiresIn` (seconds), `maxFailureCount`,
/// `proximityCheck`, `fraudWarning`, `operationType` and `ui` are optional.
package struct OperationTemplate: Sendable {
    /// The name that a request asks for.
    package let name: String
    /// The document as it came.
    package let document: JSONValue
    /// The `name` that the user's device sees.
    let operationType: String
    let data: String
    let allowedSignature: AllowedSignature
    /// Seconds.
    package let lifetime: Double?
    let maximumFailures: Int?
    package let demandsProximityCheck: Bool
    let warnsOfFraud: Bool
    package let defaults: [String: JSONValue]
    package let texts: [String: [String: String]]
    package let formData: JSONValue
    let ui: JSONValue?

    /// Reads a template and fills it once in every language, so that a mistake shows at once and not in a request.
    ///
    /// - Throws: The first mistake, with its line.
    package init(parsing json: some Sequence<UInt8>) throws(DocumentMistake) {
        let source = try SourceDocument(parsing: Array(json), as: .template)
        do { try self.init(source.value) } catch { throw source.mistake(error.message, at: error.place) }
    }

    /// Reads a template whose form was checked.
    ///
    /// - Throws: The first mistake, with the way to it.
    package init(_ document: JSONValue) throws(DocumentMistake) {
        let object = document.object ?? [:]
        guard let name = object["name"]?.string, Self.isName(name) else {
            let rule = "letters, digits and . _ - alone, at most 64"
            throw DocumentMistake("'name' is \(rule)", at: object.place(of: "name"))
        }
        guard let allowed = object["allowedSignatureType"], let allowedSignature = AllowedSignature(allowed) else {
            let known = AllowedSignature.types.map(\.rawValue).joined(separator: ", ")
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
        self.warnsOfFraud = object["fraudWarning"]?.bool ?? false
        self.defaults = object["parameters"]?.object?.valuesByName ?? [:]
        self.texts = (object["texts"]?.object?.valuesByName ?? [:]).mapValues { texts in
            (texts.object?.valuesByName ?? [:]).compactMapValues(\.string)
        }
        self.formData = object["formData"] ?? [:]
        self.ui = object["ui"].flatMap { $0.isNull ? Optional<JSONValue>.none : $0 }
        try self.check(object)
    }

    private static func isName(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { $0.isASCIILetterOrDigit || "._-".utf8.contains($0) }
    }

    private func check(_ object: JSONObject) throws(DocumentMistake) {
        guard self.texts.isEmpty || self.texts[Language.fallback] != nil else {
            throw DocumentMistake("texts in '\(Language.fallback)' are missing", at: object.place(of: "texts"))
        }
        for name in ["data", "formData", "ui", "texts"] {
            guard let value = object[name] else { continue }
            do { try Placeholders.checkEnds(in: value) } catch { throw error.inside(object.place(of: name)) }
        }
        do { try AttributeRules.check(self.formData) } catch { throw error.inside(object.place(of: "formData")) }
        if let name = self.parameters.first(where: { self.defaults[$0] == nil && $0.utf8.contains(UInt8(ascii: ":")) })
        {
            throw DocumentMistake(
                "'${\(name)}' ends in another form than ':number', and there is no parameter '\(name)'"
            )
        }
        // Parameters without a default still have to fit somewhere: a number fits everywhere.
        var parameters = self.defaults
        for name in self.parameters where parameters[name] == nil { parameters[name] = .number(JSONNumber(1)) }
        for language in self.languages {
            do {
                _ = try self.form(parameters: parameters, language: language)
            } catch {
                throw error.inside(object.place(of: "formData"))
            }
            do {
                _ = try self.filledUI(parameters: parameters, language: language)
            } catch {
                throw error.inside(object.place(of: "ui"))
            }
        }
        do { _ = try self.filledData(parameters: parameters) } catch { throw error.inside(object.place(of: "data")) }
    }

    /// The languages that it has texts in.
    private var languages: [String] { self.texts.isEmpty ? [Language.fallback] : self.texts.keys.sorted() }

    /// Fills it in every language, so that no reader of an operation with these parameters meets a gap.
    func fillEverywhere(_ parameters: [String: JSONValue]) throws(DocumentMistake) {
        for language in self.languages {
            _ = try self.form(parameters: parameters, language: language)
            _ = try self.filledUI(parameters: parameters, language: language)
        }
    }

    /// The names of the parameters, those of the data first.
    package var parameters: [String] {
        let values = [.string(self.data), self.formData, self.ui ?? .null]
        let texts = (self.texts[Language.fallback] ?? [:]).sorted { $0.key < $1.key }.map { JSONValue.string($0.value) }
        var seen: Set<String> = []
        return (values + texts).flatMap(Placeholders.parameters(in:)).filter { seen.insert($0).inserted }
    }

    /// The parameters of a request, completed by the template's own.
    func completing(_ parameters: [String: JSONValue]) -> [String: JSONValue] {
        self.defaults.merging(parameters) { _, asked in asked }
    }

    /// The data that is signed. What a parameter holds cannot end its field.
    func filledData(parameters: [String: JSONValue]) throws(DocumentMistake) -> String {
        let placeholders = Placeholders(parameters: parameters, texts: [:])
        return try placeholders.fill(self.data) { OfflineText.escaped($0, separator: "*") }
    }

    /// Returns the form that the user is shown.
    func form(parameters: [String: JSONValue], language: String) throws(DocumentMistake) -> JSONValue {
        try self.placeholders(parameters, language).fill(self.formData)
    }

    /// Returns the way in which it is shown.
    func filledUI(parameters: [String: JSONValue], language: String) throws(DocumentMistake) -> JSONValue? {
        guard let ui = self.ui else { return nil }
        return try self.placeholders(parameters, language).fill(ui)
    }

    private func placeholders(_ parameters: [String: JSONValue], _ language: String) -> Placeholders {
        // Texts that a translation lacks are shown in the fallback language.
        let fallback = self.texts[Language.fallback] ?? [:]
        let texts = fallback.merging(self.texts[language] ?? [:]) { _, translated in translated }
        return Placeholders(parameters: parameters, texts: texts)
    }
}

/// The factors that an operation may be approved with.
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

    /// The sets of factors that a code can have: whatever a device signs, it signs with possession.
    static let types = SignatureType.allCases.filter { $0.rawValue.utf8.starts(with: "possession".utf8) }

    /// - Returns: `nil` when the type is unknown, or when a variant is, or when there is none, or when a member is given twice.
    init?(_ value: JSONValue) {
        guard value.object?.duplicateKeys.isEmpty == true, let kind = value["type"]?.string.flatMap(Kind.init),
            let listed = value["variants"]?.array
        else {
            return nil
        }
        let variants = listed.compactMap { $0.string.flatMap(SignatureType.init(rawValue:)) }
            .filter(Self.types.contains)
        guard !variants.isEmpty, variants.count == listed.count else { return nil }
        self.init(kind: kind, variants: variants)
    }

    var json: JSONValue {
        [
            "type": .string(self.kind.rawValue),
            "variants": .array(self.variants.map { .string($0.rawValue) }),
        ]
    }

    /// Indicates whether approving with these factors suffices: exactly one of the variants.
    func allows(_ type: SignatureType) -> Bool {
        self.variants.contains(type)
    }

    var allowsBiometry: Bool { self.variants.contains { $0.rawValue.contains("biometry") } }
}

extension JSONObject {
    /// The way to a member, or to the object that has none of the name.
    func place(of name: String) -> [Int] {
        self.members.firstIndex { $0.key.isExactly(name) }.map { [$0] } ?? []
    }
}

extension Schema {
    /// The form of an operation template.
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
            .optional("fraudWarning", .boolean),
            .optional("parameters", .open(), "The values of ${name} where a request leaves it out."),
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
