internal import Foundation
public import PowerAuthCrypto
internal import PowerAuthProtocol

extension PowerAuthClient {
    /// Activates with a code, and stores the activation.
    ///
    /// - Parameters:
    ///   - code: As shown to the user or read from a QR code: `CODE` or `CODE#SIGNATURE`.
    ///   - name: Shown to the user in lists of activations.
    ///   - password: Protects the knowledge factor; at least 4 bytes. The server never sees it.
    ///   - otp: A one-time password that the server asks for besides the code.
    public func activate(
        code: String,
        name: String? = nil,
        password: SecretBytes,
        otp: String? = nil
    ) async throws -> Activation {
        var request = try ActivationRequest(code: code)
        request.name = name
        request.otp = otp
        return try await self.activate(request, password: password).activation
    }

    /// Activates with a code and a password held as text.
    public func activate(
        code: String,
        name: String? = nil,
        password: String,
        otp: String? = nil
    ) async throws -> Activation {
        try await self.activate(code: code, name: name, password: SecretBytes(utf8: password), otp: otp)
    }

    /// Activates with any credentials, and tells all that the server answered.
    ///
    /// When the calling task is cancelled while the request is on the wire, the activation is still stored in the
    /// background: the server has used up the code by then.
    ///
    /// - Parameter biometryKey: Sets up the biometry factor too: 16 bytes from outside, such as a file, a KMS or an HSM.
    public func activate(
        _ request: ActivationRequest,
        password: SecretBytes,
        biometryKey: SecretBytes? = nil
    ) async throws -> ActivationResult {
        try Password.validate(password)
        if let biometryKey { try BiometryKeyProtection.validate(biometryKey) }
        try self.verify(request.credentials)
        return try await Errand.run { audience in
            let creation = ActivationCreation(request, server: self.server, encryptionKeys: self.encryptionKeys)
            let created = try await creation.perform(for: audience)
            let record = try await creation.record(created, password: password, biometryKey: biometryKey)
            try await MobileTokenError.store { try await self.server.store.insert(record) }
            let activation = try self.activation(record)
            return ActivationResult(
                activation: activation,
                fingerprint: activation.fingerprint,
                recovery: created.recovery,
                userInfo: created.userInfo,
                customAttributes: created.customAttributes
            )
        }
    }

    /// A signature that comes with a code must be the server's, or somebody else made the code.
    private func verify(_ credentials: ActivationRequest.Credentials) throws(MobileTokenError) {
        guard case .code(let code) = credentials, code.signature != nil else { return }
        guard code.isSigned(by: self.server.application.masterPublicKey) else {
            throw MobileTokenError(.invalidActivationCode, "The activation code is not signed by the server")
        }
    }
}
