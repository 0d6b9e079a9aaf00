package import APIDescriptions
package import ExactJSON

/// An operation as a device would show it.
package struct OperationPreview: Described {
    /// The language it is in.
    package let language: String
    /// Every language it can be shown in.
    package let languages: [String]
    /// The operation in the words of the Mobile Token API.
    package let operation: JSONValue

    package static let fields = FieldTable(
        "OperationPreview",
        Self.init(language:languages:operation:),
        .required("language", \.language, .string),
        .required("languages", \.languages, .list(of: .string)),
        .required("operation", \.operation, .json(.open()), "The operation as a device gets it.")
    )
}

extension Backend {
    /// Returns an operation as a device would show it; `nil` when there is none, or when its template is gone.
    ///
    /// - Parameter language: The language wanted, such as `cs`; without one, that of the operation. The fallback where it is not
    ///   available.
    package func preview(ofOperation id: String, language wanted: String?) -> OperationPreview? {
        guard let operation = self.state.operations[id] else { return nil }
        let languages: [String]
        switch operation.content {
        // The texts are the bank's and stay as they are; only amounts depend on the language.
        case .custom: languages = MonetaryFormat.languages.sorted()
        case .template(let name): languages = self.operationTemplates[name]?.texts.keys.sorted() ?? []
        }
        let language = Language.preferred(wanted ?? operation.language, among: languages)
        guard let shown = self.operationTemplates.presented(operation, acceptLanguage: language) else { return nil }
        return OperationPreview(
            language: language,
            languages: languages.isEmpty ? [Language.fallback] : languages,
            operation: shown
        )
    }
}
