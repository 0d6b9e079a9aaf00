public import PowerAuthClient

/// Answers to the calls of this module.
extension MobileTokenError.Code {
    /// The server does not offer this activation a protocol upgrade.
    public static let upgradeNotOffered = Self("upgradeNotOffered")
    /// The server refused the upgrade. The activation is unchanged.
    public static let upgradeFailed = Self("upgradeFailed")
    /// The server could not add or remove the biometry factor.
    public static let biometryChangeFailed = Self("biometryChangeFailed")
    /// The server has no data about the user, or could not get it.
    public static let userInfoFailed = Self("userInfoFailed")
    /// The server created no activation code for another device.
    public static let activationCodeFailed = Self("activationCodeFailed")
    /// The server refused to unlock the vault.
    public static let vaultUnlockFailed = Self("vaultUnlockFailed")
}
