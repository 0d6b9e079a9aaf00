extension Version4 {
    /// What an encrypted request is for: the text that goes into its keys as `sharedInfo1`, so that an envelope made for one
    /// purpose cannot be opened for another. It is not the path of the endpoint.
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

        /// Whose keys protect a request.
        package enum Scope: String, Sendable {
            case application
            case activation
        }

        /// Whose keys protect requests of this purpose.
        package var scope: Scope {
            switch self {
            case .genericApplication, .activation, .upgradeStart: .application
            case .genericActivation, .vaultUnlock, .tokenCreate, .passwordChange, .biometryAdd: .activation
            }
        }
    }
}
