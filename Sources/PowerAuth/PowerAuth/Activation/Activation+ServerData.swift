public import ExactJSON
public import PowerAuthClient

extension ActivationStatus {
    /// The server's custom data about the activation.
    public var customObject: JSONValue? { self.customData }
}

extension Activation {
    /// Returns the server's data about the activation's user, such as claims from an identity provider.
    public func userInfo() async throws -> JSONValue {
        let (response, path) = try await self.ask(.userInfo)
        return try response.read { bytes in
            try MobileTokenError.mapErrors(ofResponse: path) { try JSONValue(parsing: bytes) }
        }
    }

    /// Confirms a recovery code that was handed out on paper, so that it can be used. Protocol version 3 only.
    ///
    /// - Returns: `true` if it was confirmed already.
    @discardableResult
    public func confirmRecoveryCode(_ code: String, with authentication: Authentication) async throws -> Bool {
        try await self.confirmRecovery(code: code, with: authentication)
    }
}
