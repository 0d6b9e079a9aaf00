extension Version4 {
    /// The purpose of an encrypted request, which is the `sharedInfo1` of its keys, so that an envelope for one purpose cannot be
    /// opened for another. It resembles an endpoint's path, but is not one.
    package enum EncryptionPurpose: String, Sendable, CaseIterable {
        /// An application's own endpoints, and the outer layer of an activation's creation.
        case genericApplication = "/pa/generic/application"
        /// An activation's status, name and user, and its own endpoints.
        case genericActivation = "/pa/generic/activation"
        /// The inner layer of an activation's creation.
        case activation = "/pa/activation"
        /// The start of an upgrade from version 3.
        case upgradeStart = "/pa/upgrade/start"
        /// Fetching a vault key.
        case vaultUnlock = "/pa/vault/unlock"
        case tokenCreate = "/pa/token/create"
        /// Agreeing on a new knowledge key.
        case passwordChange = "/pa/password/change"
        case biometryAdd = "/pa/biometry/add"

        /// The keys for this purpose.
        package var scope: EnvelopeScope {
            switch self {
            case .genericApplication, .activation, .upgradeStart: .application
            case .genericActivation, .vaultUnlock, .tokenCreate, .passwordChange, .biometryAdd: .activation
            }
        }
    }
}
