public import PowerAuthClient
public import PowerAuthCrypto
public import PowerAuthProtocol

extension Activation {
    /// Upgrades a version 3 activation to protocol version 4, permanently.
    ///
    /// The server must offer it: see ``ActivationStatus/isUpgradeOffered``. Identifier, name, password and biometry key stay;
    /// tokens are renewed at their next use. Services of this activation wait meanwhile, in every process that shares the store.
    /// After an interruption, the next call, signature or service request completes the upgrade or continues in version 3.
    ///
    /// ```swift
    /// if try await activation.status().isUpgradeOffered {
    ///     try await activation.upgrade(password: password)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - password: The password of the activation.
    ///   - suite: Default: the suite of the client's configuration.
    ///   - biometryKey: The external key of the biometry factor, if it is set up.
    /// - Throws: ``MobileTokenError/Code/upgradeNotOffered``, or any error of the server. The activation is unchanged.
    public func upgrade(
        password: SecretBytes,
        biometryKey: SecretBytes? = nil,
        suite: AlgorithmSuite? = nil
    ) async throws {
        try await self.moveToVersion4(password: password, biometryKey: biometryKey, suite: suite)
    }
}
