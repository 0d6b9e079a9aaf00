/// The purpose of an encrypted request. Its keys are derived from this string as `sharedInfo1`, so that an envelope sealed for
/// one purpose cannot be opened for another. It looks like the path of an endpoint and is none.
package enum ECIESPurpose: String, Sendable, CaseIterable {
    /// An application's own endpoints, and the outer layer of creating an activation.
    case genericApplication = "/pa/generic/application"
    /// An activation's own endpoints.
    case genericActivation = "/pa/generic/activation"
    /// The inner layer of creating an activation.
    case activation = "/pa/activation"
    /// Upgrading the protocol of an activation.
    case upgrade = "/pa/upgrade"
    /// Fetching the vault key.
    case vaultUnlock = "/pa/vault/unlock"
    /// Creating a token.
    case tokenCreate = "/pa/token/create"
    /// Confirming recovery codes.
    case recoveryConfirm = "/pa/recovery/confirm"
}
