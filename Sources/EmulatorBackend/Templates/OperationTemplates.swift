import APIDescriptions
import CloudCalls
import EmulatorMessages
package import ExactJSON
import Foundation
import PowerAuthProtocol

/// The templates of a server by name, and what a device is shown of the operations that are made from them.
package struct OperationTemplates: Sendable {
    private var byName: [String: OperationTemplate] = [:]

    /// - Parameter documents: Beside the built-in templates; one of the same name replaces it.
    init(parsing documents: [String]) throws(DocumentMistake) {
        self = try Self.builtIn.get()
        for (index, document) in documents.enumerated() {
            do {
                self.insert(try OperationTemplate(parsing: document.utf8))
            } catch {
                throw DocumentMistake("The template number \(index + 1) of the configuration: \(error.message)")
            }
        }
    }

    private init() {}

    /// Those of every backend, read once: a server may have a thousand.
    private static let builtIn = Result { () throws(DocumentMistake) -> Self in
        var templates = Self()
        for document in OperationTemplate.builtIn { templates.insert(try OperationTemplate(parsing: document.utf8)) }
        return templates
    }

    /// Returns these with the changes that a state holds.
    func changed(by changes: Table<ExportableJSON>) throws(DocumentMistake) -> Self {
        var templates = self
        for name in changes.keysInOrder {
            guard let document = changes[name]?.value, !document.isNull else {
                templates.remove(name)
                continue
            }
            do { templates.insert(try OperationTemplate(parsing: document.serialized())) } catch {
                throw DocumentMistake("The template '\(name.beginning)' of the state: \(error.message)")
            }
        }
        return templates
    }

    package var count: Int { self.byName.count }

    /// Adds a template, or puts it in the place of the one of its name.
    mutating func insert(_ template: OperationTemplate) { self.byName[template.name] = template }

    mutating func remove(_ name: String) { self.byName[name] = nil }

    package subscript(name: String) -> OperationTemplate? { self.byName[name] }

    /// In the order of their names.
    package var sorted: [OperationTemplate] { self.byName.values.sorted { $0.name < $1.name } }

    /// Returns an operation as the Mobile Token API shows it, in the reader's language.
    ///
    /// - Returns: `nil` when its template is gone: the state came from a server with other templates.
    func presented(_ operation: ServerOperation, acceptLanguage: String?) -> JSONValue? {
        guard let (formData, ui) = self.content(of: operation, acceptLanguage: acceptLanguage) else { return nil }
        var object: JSONObject = [
            "id": .string(operation.id),
            "name": .string(operation.type),
            "data": .string(operation.data),
            "status": .string(operation.status.rawValue),
            "operationCreated": .string(ISO8601.string(from: Date(milliseconds: operation.created))),
            "operationExpires": .string(ISO8601.string(from: Date(milliseconds: operation.expires))),
            "allowedSignatureType": operation.allowedSignature.json,
            "formData": formData,
        ]
        object["statusReason"] = operation.statusReason.map { .string($0) }
        object["ui"] = ui
        return .object(object)
    }

    /// Returns the form that the user is shown, with amounts written out.
    func content(
        of operation: ServerOperation,
        acceptLanguage: String?
    ) -> (formData: JSONValue, ui: JSONValue?)? {
        switch operation.content {
        case .custom(let formData, let ui):
            let language = Language.preferred(acceptLanguage, among: MonetaryFormat.languages)
            return (self.formatting(formData.value, language), ui?.value)
        case .template(let name):
            guard let template = self.byName[name] else { return nil }
            let language = Language.preferred(acceptLanguage, among: template.texts.keys)
            let parameters = operation.parameters.mapValues(\.value)
            do {
                let form = try template.form(parameters: parameters, language: language)
                let ui = try template.filledUI(parameters: parameters, language: language)
                return (self.formatting(form, language), ui)
            } catch {
                return nil
            }
        }
    }

    /// Returns the form as the user sees it, in the fallback's language; `nil` when the template is gone.
    package func formData(of operation: ServerOperation) -> JSONValue? {
        switch operation.content {
        case .custom(let formData, _):
            return self.formatting(formData.value, Language.fallback)
        case .template(let name):
            let parameters = operation.parameters.mapValues(\.value)
            let form = try? self.byName[name]?.form(parameters: parameters, language: Language.fallback)
            return form.map { self.formatting($0, Language.fallback) }
        }
    }

    private func formatting(_ formData: JSONValue, _ language: String) -> JSONValue {
        guard case .object(var object) = formData, let attributes = object["attributes"]?.array else { return formData }
        let format = MonetaryFormat(language: language)
        object["attributes"] = .array(attributes.map(format.completing))
        return .object(object)
    }
}
