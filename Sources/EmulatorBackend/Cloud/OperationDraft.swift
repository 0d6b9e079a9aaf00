import APIDescriptions
import Basics
import CloudCalls
import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// The parts of an operation before it has an identifier and times.
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
    init(_ bank: Backend, of request: NewCloudOperation) throws(Refusal) {
        guard let name = request.template else {
            self = try Self.custom(request)
            return
        }
        guard let template = bank.operationTemplates[name] else {
            let hint = Suggestion.closest(to: name, among: bank.operationTemplates.sorted.map(\.name))
            let question = hint.map { "; did you mean '\($0)'?" } ?? ""
            throw .invalid("template", "names no template: there is no '\(name)'\(question)", value: .string(name))
        }
        let given = request.parameters ?? [:]
        if let objection = template.objection(to: given) { throw .invalid(objection) }
        let parameters = template.completing(given)
        do {
            try template.fillEverywhere(parameters)
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
            throw error.objection.map { Refusal.invalid($0) } ?? Refusal.invalidRequest(error.message)
        }
    }

    /// An operation with a body of its own in place of a template.
    private static func custom(_ request: NewCloudOperation) throws(Refusal) -> Self {
        if request.operationType == nil, request.name == nil, request.data == nil, request.formData == nil {
            throw .invalid("template", "is missing, and so are 'operationType', 'data' and 'formData' in its place")
        }
        let type = try (request.operationType ?? request.name).required("operationType")
        let data = try request.data.required("data")
        guard let formData = request.formData else { throw .invalid("formData", "is missing") }
        var allowed = AllowedSignature(kind: .twoFactors, variants: [.possessionKnowledge, .possessionBiometry])
        if let asked = request.allowedSignatureType {
            guard let known = AllowedSignature(asked) else {
                throw .invalid("allowedSignatureType", "is not known", value: asked)
            }
            allowed = known
        }
        return Self(
            content: .custom(formData: ExportableJSON(formData), ui: request.ui.map(ExportableJSON.init)),
            type: type,
            data: data,
            parameters: request.parameters ?? [:],
            allowedSignature: allowed
        )
    }
}

extension String? {
    /// A member that must be a string that is not empty.
    fileprivate func required(_ name: String) throws(Refusal) -> String {
        guard let self, !self.isEmpty else { throw .invalid(name, "is missing") }
        return self
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
