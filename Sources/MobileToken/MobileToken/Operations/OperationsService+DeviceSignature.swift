import ExactJSON
import PowerAuth
public import PowerAuthClient

extension OperationsService {
    /// Returns an operation with its data signed by the device's own key, for a requester that does not trust the server alone.
    ///
    /// ```swift
    /// let signed = try await operations.signedByDevice(operation, with: factors)
    /// try await operations.authorize(signed, with: factors)
    /// ```
    /// The signature is a JSON web token with the claim `operationData`, stored in
    /// ``UserOperation/mobileTokenData`` as `deviceSignature`. Version 3 of the protocol uses `ES256`, version 4 `ES384`. The requester verifies it with the activation's `devicePublicKeys()`,
    /// obtained through another channel than the server. Signing makes one request, which opens the vault.
    ///
    /// - Parameters:
    ///   - operation: An operation of the list.
    ///   - authentication: Possession and knowledge.
    /// - Throws: `MobileTokenError`:
    ///   ``MobileTokenError/Code/invalidConfiguration`` if the activation is wrapped and provides no `evidence`.
    public nonisolated func signedByDevice(
        _ operation: UserOperation,
        with authentication: Activation.Authentication
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
