import PowerAuthProtocol

extension Activation {
    /// An activation code for another device of the same user.
    public struct TransferCode: Sendable, Hashable, CustomStringConvertible {
        /// The identifier of the activation that the code makes.
        public let activationID: String
        /// The code alone, for a person to type: four groups of five letters and digits.
        public let activationCode: String
        /// The code with the server's signature, as a QR code holds it. The device that reads it checks the signature.
        public let qrCodeContent: String

        /// The identifier alone: whoever has the code and the password that goes with it can use it.
        public var description: String { "transfer code of activation \(self.activationID)" }
    }
}

extension Activation {
    /// Has the server make an activation code for another device of this activation's user.
    ///
    /// ```swift
    /// let code = try await activation.transferCode(
    ///     applicationID: "mobile-bank",
    ///     otp: "84017733",
    ///     with: .possessionAndKnowledge(password: password)
    /// )
    /// print(code.qrCodeContent)
    /// ```
    ///
    /// - Parameters:
    ///   - applicationID: The application on the other device, as the server's administrator named it.
    ///   - otp: A one-time password of the caller's choice, which the other device gives along with the code.
    ///   - authentication: Two factors.
    /// - Throws: ``MobileTokenError/Code/activationCodeFailed`` when the server does not allow it, and
    ///   ``MobileTokenError/Code/invalidAuthentication`` for possession alone.
    public func transferCode(
        applicationID: String,
        otp: String,
        with authentication: Authentication
    ) async throws -> Activation.TransferCode {
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
