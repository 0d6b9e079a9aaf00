public import PowerAuthClient
import PowerAuthProtocol

extension Activation {
    /// An activation code for another device of the same user.
    public struct TransferCode: Sendable, Hashable, CustomStringConvertible, CustomReflectable {
        /// The identifier of the new activation.
        public let activationID: String
        /// The code, for typing: four groups of five letters and digits.
        public let activationCode: String
        /// The code with the server's signature, as in a QR code. The scanning device checks the signature.
        public let qrCodeContent: String

        /// The identifier only: the code and its password are enough to activate.
        public var description: String { "transfer code of activation \(self.activationID)" }
        /// Empty, so that `dump` reveals nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension Activation {
    /// Requests an activation code for another device of the same user.
    ///
    /// ```swift
    /// let code = try await activation.transferCode(
    ///     applicationID: "mobile-bank",
    ///     otp: "8401-7733-2915-06",
    ///     with: .possessionAndKnowledge(password: password)
    /// )
    /// print(code.qrCodeContent)
    /// ```
    ///
    /// - Parameters:
    ///   - applicationID: The application on the other device, as named by the server's administrator.
    ///   - otp: A one-time password of at least 16 characters, chosen by the caller and entered on the other device with the code.
    ///   - authentication: Two factors.
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` for a shorter `otp`, before anything is signed;
    ///   ``MobileTokenError/Code/activationCodeFailed`` if the server does not allow it;
    ///   ``MobileTokenError/Code/invalidAuthentication`` for possession alone.
    public func transferCode(
        applicationID: String,
        otp: String,
        with authentication: Authentication
    ) async throws -> Activation.TransferCode {
        try TextRule.check(applicationID, of: "applicationID")
        try TextRule.check(otp, of: "otp")
        // Servers 1.x refuse shorter passwords with a misleading message.
        guard otp.unicodeScalars.count >= 16, otp.contains(where: { !$0.isWhitespace }) else {
            throw MobileTokenError(.invalidRequest, "otp: at least 16 characters, and not only spaces")
        }
        let request = try EndpointRequest(.activationCode, CodeRequest(applicationId: applicationID, otp: otp))
        let path = try request.endpoint.path(in: self.version)
        let response = try await self.send(request, with: authentication)
        let made = try request.endpoint.decode(CodeResponse.self, from: response, of: path)
        return try response.mappingErrors {
            try MobileTokenError.mapErrors(ofResponse: path) {
                let code = try ActivationCode(parsing: "\(made.activationCode)#\(made.activationSignature)")
                guard UUIDString.isValid(made.activationId) else {
                    throw MobileTokenError.invalidResponse("The response to \(path) contains no activation identifier")
                }
                return Activation.TransferCode(
                    activationID: made.activationId,
                    activationCode: code.code,
                    qrCodeContent: code.qrCodeContent
                )
            }
        }
    }

    private struct CodeRequest: Encodable {
        let applicationId: String
        let otp: String
    }

    private struct CodeResponse: Decodable {
        let activationId: String
        let activationCode: String
        let activationSignature: String
    }
}
