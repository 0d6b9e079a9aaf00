public import PowerAuth

extension OperationsService {
    /// Returns an operation with a signature of its data by the device's own key, for an asker who does not take the server's word alone.
    ///
    /// ```swift
    /// let signed = try await operations.signedByDevice(operation, with: factors)
    /// try await operations.authorize(signed, with: factors)
    /// ```
    /// The signature is a JSON web token with the claim `operationData`, in ``UserOperation/mobileTokenData`` as `deviceSignature`: by
    /// ECDSA, `ES256` in version 3 of the protocol and `ES384` in version 4. The asker checks it with `devicePublicKeys()` of the
    /// activation, learned by another way than the server. It takes a request of its own, which opens the vault.
    ///
    /// - Parameters:
    ///   - operation: An operation of the list.
    ///   - authentication: Possession and knowledge.
    /// - Throws: `MobileTokenError`: ``MobileTokenError/Code/invalidConfiguration`` when the activation is wrapped and gives no `evidence`.
    public nonisolated func signedByDevice(
        _ operation: UserOperation,
        with authentication: Authentication
    ) async throws -> UserOperation {
        let evidence = try self.evidence
        var members = operation.mobileTokenData ?? [:]
        members[OperationSignature.member] = .string(
            try await evidence.deviceSignature(ofOperationData: operation.data, with: authentication)
        )
        var signed = operation
        signed.mobileTokenData = members
        return signed
    }
}
