import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON
import MobileTokenCloud
import PowerAuthProtocol

/// An operation without identifier and times.
struct OperationDraft {
    var content: ServerOperation.Content
    var type: String
    var data: String
    var parameters: [String: JSONValue] = [:]
    var allowedSignature: AllowedSignature
    var lifetime: Double?
    var maximumFailures: Int?
    var demandsProximityCheck = false
    var riskFlags = ""
}

extension OperationDraft {
    /// Reads a request for an operation, with a template or a custom body.
    init(_ bank: Backend, of request: CloudClient.NewOperation, _ context: inout RequestContext) throws(Refusal) {
        guard let name = request.templateName else {
            self = try Self.custom(request)
            return
        }
        guard let template = bank.operationTemplates[name] else {
            let hint = Suggestion.closest(to: name, among: bank.operationTemplates.sorted.map(\.name))
            let question = hint.map { "; did you mean '\($0)'?" } ?? ""
            throw .invalid("template", "names no template: there is no '\(name)'\(question)", value: .string(name))
        }
        let given = request.allParameters ?? [:]
        let isExact = context.caller == .network
        for (name, value) in given.sorted(by: { $0.key < $1.key }) where Placeholders.text(value) == nil {
            let member = "parameters.\(name.beginning)"
            if isExact, value.isNull { throw .unexpected("'\(member)' is null, at which real servers fail") }
            throw .invalid(member, value.isNull ? "is missing" : "is not a string", value: value)
        }
        let surplus = template.surplus(of: given)
        if !isExact, let member = surplus.first {
            throw .invalid(member.name, "is no parameter of '\(name)'\(member.question)", value: nil)
        }
        let parameters = template.parameters(of: request.allParameters, isExact: isExact)
        context.inspection.noteIgnored(surplus)
        context.inspection.noteMissing(template.parameters.filter { parameters[$0] == nil })
        do {
            self.init(
                content: .template(name),
                type: template.operationType,
                data: try template.filledData(parameters: parameters),
                parameters: parameters,
                allowedSignature: template.allowedSignature,
                lifetime: template.lifetime,
                maximumFailures: template.maximumFailures,
                demandsProximityCheck: template.demandsProximityCheck,
                riskFlags: template.riskFlags
            )
        } catch {
            throw error.objection.map { Refusal.invalid($0) } ?? Refusal.invalidRequest(error.message)
        }
    }

    /// Creates an operation with a custom body instead of a template.
    private static func custom(_ request: CloudClient.NewOperation) throws(Refusal) -> Self {
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
            parameters: request.allParameters ?? [:],
            allowedSignature: allowed
        )
    }
}

extension String? {
    /// Returns a required nonempty string.
    fileprivate func required(_ name: String) throws(Refusal) -> String {
        guard let self, !self.isEmpty else { throw .invalid(name, "is missing") }
        return self
    }
}

extension OperationTemplate {
    /// Returns parameters that the template does not use, which real servers ignore.
    fileprivate func surplus(of given: [String: JSONValue]) -> [UnknownMember] {
        let known = self.parameters + self.examples.keys.sorted()
        return given.keys.sorted().filter { name in !known.contains(where: name.isExactly) }.map { name in
            UnknownMember(name: "parameters.\(name.beginning)", suggestion: Suggestion.closest(to: name, among: known))
        }
    }
}

extension UnknownMember {
    fileprivate var question: String { self.suggestion.map { "; did you mean '\($0)'?" } ?? "" }
}
