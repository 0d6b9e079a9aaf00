extension OperationTemplate {
    /// The templates of a new server, from the files in `BuiltIn`. All parameters have defaults, so the template's name suffices.
    static let builtIn = [
        PackageResources.login_json,
        PackageResources.login_1FA_json,
        PackageResources.login_preApproval_json,
        PackageResources.login_preApproval_legacy_json,
        PackageResources.login_proximity_json,
        PackageResources.payment_json,
        PackageResources.payment_conversion_json,
        PackageResources.payment_shop_json,
        PackageResources.payment_suspicious_json,
        PackageResources.showcase_json,
    ].map { String(decoding: $0, as: UTF8.self) }
}
