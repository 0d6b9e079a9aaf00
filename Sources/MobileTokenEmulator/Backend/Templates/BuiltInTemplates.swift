extension OperationTemplate {
    /// What a new server knows. Each template has defaults for all its parameters, so that its name is enough.
    static let builtIn: [String] = loginTemplates + paymentTemplates + [showcaseTemplate]
}
