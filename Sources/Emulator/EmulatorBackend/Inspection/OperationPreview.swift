package import APIDescriptions
package import ExactJSON

/// An operation as a device would show it.
package struct OperationPreview: Described {
    /// The language of the preview.
    package let language: String
    /// All available languages.
    package let languages: [String]
    /// The operation as in the Mobile Token API.
    package let operation: JSONValue
    /// The client library's doubts; empty until it has reviewed the operation.
    package var doubts: [Doubt] = []

    /// A reason to doubt that the shown and the signed content are the same.
    package struct Doubt: Described {
        package let kind: String
        package let subject: String?

        package init(kind: String, subject: String?) { (self.kind, self.subject) = (kind, subject) }

        package static let fields = FieldTable(
            "OperationDoubt",
            Self.init(kind:subject:),
            .required("kind", \.kind, .string, "As `mobile-token show` names it.", example: "amountNotSigned"),
            .optional("subject", \.subject, .string, "The part of the operation that it is about.")
        )
    }

    package static let fields = FieldTable(
        "OperationPreview",
        Self.init(language:languages:operation:doubts:),
        .required("language", \.language, .string),
        .required("languages", \.languages, .list(of: .string)),
        .required("operation", \.operation, .json(.open()), "The operation as a device gets it."),
        .required(
            "doubts",
            \.doubts,
            .list(of: .described),
            "The reasons why the form may not be what is signed, or needs a person's eyes; none for a complete operation."
        )
    )
}

extension Backend {
    /// Returns an operation as a device would show it; `nil` if it or its template does not exist.
    ///
    /// - Parameter language: The preferred language, such as `cs` or `cs-CZ`; by default the operation's. Amounts follow the
    ///   region's format; missing texts are in English.
    package func preview(ofOperation id: String, language wanted: String?) throws(Refusal) -> OperationPreview? {
        guard let operation = self.state.operations[id] else { return nil }
        let locale = ReaderLocale(acceptLanguage: wanted ?? operation.language)
        let reader = OperationReader(locale: locale, profile: self.profile)
        guard let shown = try self.operationTemplates.presented(operation, to: reader) else { return nil }
        var language = locale.language
        var languages = [language]
        if case .template(let name) = operation.content, let template = self.operationTemplates[name] {
            language = template.language(for: locale)
            languages = template.texts.isEmpty ? [language] : template.texts.keys.sorted()
        }
        return OperationPreview(language: language, languages: languages, operation: shown)
    }

    /// Returns the form shown to a person, with plain strings; `nil` if there is none.
    package func formData(of operation: ServerOperation, in language: String? = nil) -> JSONValue? {
        let reader = OperationReader(locale: ReaderLocale(acceptLanguage: language), profile: self.profile)
        return try? self.operationTemplates.content(of: operation, for: reader)?.formData
    }
}
