import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// What an operation is made of before it has an identifier and times.
struct OperationDraft {
    var content: ServerOperation.Content
    var type: String
    var data: String
    var parameters: [String: JSONValue] = [:]
    var allowedSignature: AllowedSignature
    var lifetime: Double?
    var maximumFailures: Int?
    var demandsProximityCheck = false
    var warnsOfFraud = false
}

extension OperationDraft {
    /// Reads what a request asks for: an operation from a template, or one with a body of its own.
    init(_ bank: Backend, of request: JSONObject) throws(Refusal) {
        guard let name = try request.optionalString("template") else {
            self = try Self.custom(request)
            return
        }
        guard let template = bank.operationTemplates[name] else {
            let hint = Suggestion.closest(to: name, among: bank.operationTemplates.sorted.map(\.name))
            let question = hint.map { "; did you mean '\($0)'?" } ?? ""
            throw .invalid("template", "names no template: there is no '\(name)'\(question)", value: .string(name))
        }
        let given = try request.valuesByName(of: "parameters")
        if let objection = template.objection(to: given) { throw .invalid(objection) }
        let parameters = template.completing(given)
        do {
            // Filled in every language now, so that no reader meets a gap later.
            for language in [Language.fallback] + template.texts.keys {
                _ = try template.form(parameters: parameters, language: language)
                _ = try template.filledUI(parameters: parameters, language: language)
            }
            self.init(
                content: .template(name),
                type: template.operationType,
                data: try template.filledData(parameters: parameters),
                parameters: parameters,
                allowedSignature: template.allowedSignature,
                lifetime: template.lifetime,
                maximumFailures: template.maximumFailures,
                demandsProximityCheck: template.demandsProximityCheck,
                warnsOfFraud: template.warnsOfFraud
            )
        } catch {
            throw .invalidRequest(error.message)
        }
    }

    /// An operation with a body of its own in place of a template.
    private static func custom(_ request: JSONObject) throws(Refusal) -> Self {
        let type = try request.string("operationType", or: "name")
        let data = try request.string("data")
        guard let formData = try request.optionalObject("formData") else { throw .invalid("formData", "is missing") }
        _ = try (formData.string("title"), formData.string("message"))
        var allowed = AllowedSignature(kind: .twoFactors, variants: [.possessionKnowledge, .possessionBiometry])
        if let asked = try request.optionalObject("allowedSignatureType") {
            guard let known = AllowedSignature(.object(asked)) else {
                throw .invalid("allowedSignatureType", "is not known", value: .object(asked))
            }
            allowed = known
        }
        let ui = try request.optionalObject("ui")
        return Self(
            content: .custom(
                formData: ExportableJSON(.object(formData)),
                ui: ui.map { ExportableJSON(.object($0)) }
            ),
            type: type,
            data: data,
            parameters: try request.valuesByName(of: "parameters"),
            allowedSignature: allowed
        )
    }
}

extension OperationTemplate {
    /// Returns what is wrong with the names of a request's parameters: one that is written nowhere would be lost in silence.
    func objection(to given: [String: JSONValue]) -> Schema.Objection? {
        let known = self.parameters + self.defaults.keys.sorted()
        guard let name = given.keys.sorted().first(where: { !known.contains(where: $0.isExactly) }) else { return nil }
        let hint =
            if let closest = Suggestion.closest(to: name, among: known) { "; did you mean '\(closest)'?" } else {
                known.isEmpty ? "" : ": there are \(known.uniqued.joined(separator: ", "))"
            }
        return Schema.Objection(
            member: "parameters.\(name.beginning)",
            hint: "is no parameter of '\(self.name)'\(hint)",
            value: given[name]
        )
    }
}

extension [String] {
    /// Each once, in the order in which they come first.
    fileprivate var uniqued: Self {
        var seen: Set<String> = []
        return self.filter { seen.insert($0).inserted }
    }
}
