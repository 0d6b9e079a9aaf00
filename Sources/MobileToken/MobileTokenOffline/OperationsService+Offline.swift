public import MobileToken
import PowerAuth
public import PowerAuthClient

extension OperationsService {
    /// Verifies that the server signed an offline operation, so that it may be shown.
    ///
    /// If other processes may upgrade the activation, call `Activation.refresh()` first.
    ///
    /// - Throws: `offlineFailed` if none of the server's keys for this activation made the signature.
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

    /// Authorizes an operation from a QR code without a network. The person types the returned code where it is requested.
    ///
    /// Verifies the server's signature first. Advances the activation's counter as any signature does.
    ///
    /// A wrong password also gives a code, in every protocol version. Only the server can detect it, and counts a failed attempt
    /// when the code is typed in. A code of the wrong length has the same effect.
    ///
    /// - Parameters:
    ///   - operation: The scanned operation; its server signature is verified here.
    ///   - uriID: The URI identifier that the server expects in the signature.
    ///   - authentication: Two factors; the biometry key only if the operation allows it.
    /// - Returns: Two groups of digits, such as `12345678-12345678`; `MobileTokenClient.Configuration.offlineCodeDigits` sets
    ///   their length.
    /// - Throws: `MobileTokenError`. Before signing: `offlineFailed` if the server did not sign the operation,
    ///   `factorsNotAllowed` for factors that it forbids. Otherwise any error of signing, such as `invalidAuthentication` or
    ///   `storeFailed`.
    public func authorize(
        offline operation: OfflineOperation.Unverified,
        uriID: String = "/operation/authorize/offline",
        with authentication: Activation.Authentication
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
