import APIDescriptions
import EmulatorMessages
import ExactJSON
import Foundation
import MobileTokenCloud

/// The templates of a server by name, and the presentation of their operations to devices.
package struct OperationTemplates: Sendable {
    private var byName: [String: OperationTemplate] = [:]

    /// - Parameter documents: Templates in addition to the built-in ones; one of the same name replaces it.
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

    /// The built-in templates, parsed once: a server may have a thousand spaces.
    private static let builtIn = Result { () throws(DocumentMistake) -> Self in
        var templates = Self()
        for document in OperationTemplate.builtIn { templates.insert(try OperationTemplate(parsing: document.utf8)) }
        return templates
    }

    /// Returns the templates with a state's changes.
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

    /// Adds a template, or replaces the one of its name.
    mutating func insert(_ template: OperationTemplate) { self.byName[template.name] = template }

    mutating func remove(_ name: String) { self.byName[name] = nil }

    package subscript(name: String) -> OperationTemplate? { self.byName[name] }

    /// The templates by name.
    package var sorted: [OperationTemplate] { self.byName.values.sorted { $0.name < $1.name } }

    /// Returns an operation as in the Mobile Token API.
    ///
    /// - Returns: `nil` if its template is gone: the state came from a server with other templates.
    /// - Throws: The response of real servers in place of a whole list, if they can show nothing of a template.
    func presented(_ operation: ServerOperation, to reader: OperationReader) throws(Refusal) -> JSONValue? {
        guard let (formData, ui) = try self.content(of: operation, for: reader, escapesTexts: true) else { return nil }
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

    /// Returns the form with formatted amounts, and the screens around it.
    func content(
        of operation: ServerOperation,
        for reader: OperationReader,
        escapesTexts: Bool = false
    ) throws(Refusal) -> (formData: JSONValue, ui: JSONValue?)? {
        switch operation.content {
        case .custom(let formData, let ui):
            guard var form = formData.value.object, let attributes = form["attributes"]?.array else {
                return (formData.value, ui?.value)
            }
            form["attributes"] = .array(attributes.map { ShownAttribute.completed($0, for: reader.locale) })
            return (.object(form), ui?.value)
        case .template(let name):
            guard let template = self.byName[name] else { return nil }
            let parameters = operation.parameters.mapValues(\.value)
            let language = template.language(for: reader.locale)
            if let ui = template.ui { try StoredUI.check(ui) }
            let (form, ui): (JSONObject, JSONObject?)
            do {
                form = try template.form(parameters: parameters, language: language, escapesTexts: escapesTexts)
                ui = try template.filledUI(parameters: parameters, language: language)
            } catch {
                throw .unexpected(error.message)
            }
            return (.object(try Self.shown(form, to: reader)), Self.shown(ui, of: operation, to: reader))
        }
    }

    private static func shown(_ form: JSONObject, to reader: OperationReader) throws(Refusal) -> JSONObject {
        var attributes: [JSONValue] = []
        for attribute in form["attributes"]?.array ?? [] {
            guard let shown = try ShownAttribute.shown(attribute.object ?? [:], to: reader.locale) else { continue }
            attributes.append(shown)
        }
        var form = form
        form["attributes"] = .array(attributes)
        return form
    }

    private static func shown(
        _ ui: JSONObject?,
        of operation: ServerOperation,
        to reader: OperationReader
    ) -> JSONValue? {
        guard let ui else {
            return operation.riskFlags.isEmpty ? nil : .object(ShownUI.shown(riskFlags: operation.riskFlags))
        }
        let hasProximityCode = operation.proximitySeed != nil && !reader.readsHistory
        return .object(ShownUI(profile: reader.profile, hasProximityCode: hasProximityCode).shown(ui))
    }
}

/// The device and the call that an operation is shown to.
struct OperationReader {
    let locale: ReaderLocale
    let profile: EmulatorServerProfile
    /// Indicates whether it reads the history, which has no proximity codes.
    var readsHistory = false
}

extension OperationTemplate {
    /// Returns the language of the texts for a reader: the reader's, else English, else any.
    func language(for reader: ReaderLocale) -> String {
        [reader.language, ReaderLocale.english.language].first { self.texts[$0] != nil }
            ?? self.texts.keys.min() ?? ReaderLocale.english.language
    }
}
