package import ExactJSON
import PowerAuthProtocol

/// What operations of one kind are made from: a JSON document with placeholders, checked when the server starts.
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

    /// Reads a template and fills it once in every language, so that a mistake shows at the start and not in a request.
    init(parsing json: String) throws(TemplateError) {
        let document: JSONValue
        do {
            document = try JSONValue(parsing: json)
        } catch {
            throw TemplateError("A template is not JSON: \(error)")
        }
        guard case .object = document, let name = document["name"]?.string, !name.isEmpty else {
            throw TemplateError("A template has no name")
        }
        do {
            try self.init(name: name, document)
            try self.check()
        } catch {
            throw TemplateError("Template '\(name)': \(error.message)")
        }
    }

    private init(name: String, _ document: JSONValue) throws(TemplateError) {
        guard let data = document["data"]?.string else { throw TemplateError("'data' is missing") }
        guard case .object? = document["formData"], let formData = document["formData"] else {
            throw TemplateError("'formData' is missing")
        }
        guard let allowed = document["allowedSignatureType"], let allowedSignature = AllowedSignature(allowed) else {
            throw TemplateError("'allowedSignatureType' is missing or wrong")
        }
        self.name = name
        self.operationType = document["operationType"]?.string ?? name
        self.data = data
        self.allowedSignature = allowedSignature
        self.lifetime = document["expiresIn"]?.int64.map(Double.init)
        self.maximumFailures = document["maxFailureCount"]?.int64.map { Int(clamping: $0) }
        self.demandsProximityCheck = document["proximityCheck"]?.bool ?? false
        self.warnsOfFraud = document["fraudWarning"]?.bool ?? false
        self.defaults = document["parameters"]?.object?.valuesByName ?? [:]
        self.texts = (document["texts"]?.object?.valuesByName ?? [:]).mapValues { texts in
            (texts.object?.valuesByName ?? [:]).compactMapValues(\.string)
        }
        self.formData = formData
        self.ui = document["ui"]
    }

    private func check() throws(TemplateError) {
        guard self.texts.isEmpty || self.texts[Language.fallback] != nil else {
            throw TemplateError("texts in '\(Language.fallback)' are missing")
        }
        guard self.lifetime.map({ (1...31_536_000).contains($0) }) ?? true else {
            throw TemplateError("'expiresIn' is not 1 to 31 536 000 seconds")
        }
        guard self.maximumFailures.map({ (1...255).contains($0) }) ?? true else {
            throw TemplateError("'maxFailureCount' is not 1 to 255")
        }
        // Parameters without a default still have to fit somewhere: a number fits everywhere.
        var parameters = self.defaults
        for name in self.parameters where parameters[name] == nil { parameters[name] = .number(JSONNumber(1)) }
        for language in self.texts.isEmpty ? [Language.fallback] : Array(self.texts.keys) {
            let form = try self.form(parameters: parameters, language: language)
            guard form["title"]?.string != nil, form["message"]?.string != nil else {
                throw TemplateError("'formData' has no title or no message")
            }
            _ = try self.filledUI(parameters: parameters, language: language)
        }
        _ = try self.filledData(parameters: parameters)
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
    func filledData(parameters: [String: JSONValue]) throws(TemplateError) -> String {
        let placeholders = Placeholders(parameters: parameters, texts: [:])
        return try placeholders.fill(self.data) { OfflineText.escaped($0, separator: "*") }
    }

    /// What the user is shown.
    func form(parameters: [String: JSONValue], language: String) throws(TemplateError) -> JSONValue {
        try self.placeholders(parameters, language).fill(self.formData)
    }

    /// The title alone.
    package func title(parameters: [String: JSONValue], language: String) throws(TemplateError) -> String? {
        guard let title = self.formData["title"]?.string else { return nil }
        return try self.placeholders(parameters, language).fill(title)
    }

    /// How it is shown.
    func filledUI(parameters: [String: JSONValue], language: String) throws(TemplateError) -> JSONValue? {
        guard let ui = self.ui else { return nil }
        return try self.placeholders(parameters, language).fill(ui)
    }

    private func placeholders(_ parameters: [String: JSONValue], _ language: String) -> Placeholders {
        // What a translation lacks is shown in the fallback language.
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

    /// - Returns: `nil` when the type is unknown, or when a variant is, or when there is none, or when a member is given twice.
    init?(_ value: JSONValue) {
        guard value.object?.duplicateKeys.isEmpty == true, let kind = value["type"]?.string.flatMap(Kind.init),
            let listed = value["variants"]?.array
        else {
            return nil
        }
        let variants = listed.compactMap { $0.string.flatMap(SignatureType.init(rawValue:)) }
        guard !variants.isEmpty, variants.count == listed.count else { return nil }
        self.init(kind: kind, variants: variants)
    }

    var json: JSONValue {
        [
            "type": .string(self.kind.rawValue),
            "variants": .array(self.variants.map { .string($0.rawValue) }),
        ]
    }

    /// Whether approving with these factors suffices: exactly one of the variants.
    func allows(_ type: SignatureType) -> Bool {
        self.variants.contains(type)
    }

    var allowsBiometry: Bool { self.variants.contains { $0.rawValue.contains("biometry") } }
}
