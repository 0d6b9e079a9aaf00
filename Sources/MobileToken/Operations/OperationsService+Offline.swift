public import PowerAuth

extension OperationsService {
    /// Checks that the server signed an offline operation, so that it may be shown.
    ///
    /// In a process that runs while others may upgrade the activation, `Activation.refresh()` comes first.
    ///
    /// - Throws: `offlineFailed` when neither of the server's keys for this activation made its signature.
    public nonisolated func verify(_ operation: OfflineOperation.Unverified) throws -> OfflineOperation {
        do {
            return try operation.verified { key, signature, message in
                self.channel.isSignedByServer(
                    message,
                    signature: signature,
                    key: Activation.ServerSigningKey(key),
                    format: .der
                )
            }
        } catch {
            throw MobileTokenError(
                .offlineFailed,
                "The offline operation is not signed by the server",
                underlying: error
            )
        }
    }

    /// Authorizes an operation from a QR code without a network: the person types the code returned where it is asked for.
    ///
    /// Checks first that the server signed the operation. Moves the activation's counter like any signature.
    ///
    /// A wrong password gives a code all the same, in every version of the protocol: only the server can tell, and counts it
    /// as a failed attempt when the code is typed in. So does a code of another length than the server expects.
    ///
    /// - Parameters:
    ///   - operation: The operation as it was scanned; whether the server signed it is checked here.
    ///   - uriID: The request's identifier that the server expects to be signed.
    ///   - authentication: Two factors; the biometry key only when the operation allows it.
    /// - Returns: Two groups of digits, such as `12345678-12345678`; of how many each,
    ///   `MobileTokenClient.Configuration.offlineCodeDigits` says.
    /// - Throws: `MobileTokenError`. Before anything is signed: `offlineFailed` when the server did not sign the operation,
    ///   `factorsNotAllowed` for factors that it does not allow. Otherwise what any signature may throw, such as
    ///   `invalidAuthentication` or `storeFailed`.
    public func authorize(
        offline operation: OfflineOperation.Unverified,
        uriID: String = "/operation/authorize/offline",
        with authentication: Authentication
    ) async throws -> String {
        try await self.channel.refresh()
        let operation = try self.verify(operation)
        switch UserOperation.AllowedSignatureType.Variant(authentication) {
        case .possession:
            throw MobileTokenError(.factorsNotAllowed, "Authorizing an offline operation requires two factors")
        case .possessionBiometry where !operation.flags.isBiometryAllowed:
            throw MobileTokenError(.factorsNotAllowed, "The operation may not be authorized with the biometry key")
        case .possessionKnowledge, .possessionBiometry:
            return try await self.channel.offlineSignature(
                data: operation.dataToSign,
                nonce: operation.nonceBytes,
                uriID: uriID,
                componentLength: nil,
                with: authentication
            )
        }
    }
}

extension Activation.ServerSigningKey {
    fileprivate init(_ key: OfflineOperation.SigningKey) {
        self =
            switch key {
            case .master: .master
            case .personalized: .activation
            case .shared: .shared
            }
    }
}
