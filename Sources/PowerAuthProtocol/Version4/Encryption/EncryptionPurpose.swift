extension Version4 {
    /// The purpose of an encrypted request. Its keys are derived from this string as `sharedInfo1`, so that an envelope sealed
    /// for one purpose cannot be opened for another. It looks like the path of an endpoint and is none.
    package enum EncryptionPurpose: String, Sendable, CaseIterable {
        /// The outer layer of creating an activation, and an application's own endpoints.
        case genericApplication = "/pa/generic/application"
        /// Status, name and user of an activation, and an activation's own endpoints.
        case genericActivation = "/pa/generic/activation"
        /// The inner layer of creating an activation.
        case activation = "/pa/activation"
        /// Starting the upgrade of an activation from version 3.
        case upgradeStart = "/pa/upgrade/start"
        /// Fetching a key of the vault.
        case vaultUnlock = "/pa/vault/unlock"
        /// Creating a token.
        case tokenCreate = "/pa/token/create"
        /// Agreeing on another knowledge key.
        case passwordChange = "/pa/password/change"
        /// Agreeing on a biometric key.
        case biometryAdd = "/pa/biometry/add"

        /// The keys that protect requests of this purpose.
        package var scope: EncryptionScope {
            switch self {
            case .genericApplication, .activation, .upgradeStart: .application
            case .genericActivation, .vaultUnlock, .tokenCreate, .passwordChange, .biometryAdd: .activation
            }
        }
    }
}
