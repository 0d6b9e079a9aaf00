/// The purpose of an encrypted request, which is the `sharedInfo1` of its keys, so that an envelope for one purpose cannot be
/// opened for another. It resembles an endpoint's path, but is not one.
package enum ECIESPurpose: String, Sendable, CaseIterable {
    /// An application's own endpoints, and the outer layer of an activation's creation.
    case genericApplication = "/pa/generic/application"
    case genericActivation = "/pa/generic/activation"
    /// The inner layer of an activation's creation.
    case activation = "/pa/activation"
    /// An activation's protocol upgrade.
    case upgrade = "/pa/upgrade"
    /// Fetching the vault key.
    case vaultUnlock = "/pa/vault/unlock"
    case tokenCreate = "/pa/token/create"
    case recoveryConfirm = "/pa/recovery/confirm"
}
