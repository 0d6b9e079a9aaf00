public import PowerAuthClient
public import PowerAuthCrypto

extension MobileTokenClient {
    /// Begins an activation with an OpenID provider.
    ///
    /// The provider's configuration is fetched in an encrypted request. State, nonce and PKCE verifier are random for each
    /// attempt.
    ///
    /// - Parameter providerID: The provider, as named by the server's administrator.
    /// - Returns: The attempt. Open its ``OIDCAuthorization/authorizeURL`` in a browser.
    /// - Throws: ``MobileTokenError``, such as `serverConfigurationFailed` for an unknown provider and `invalidResponse` for an
    ///   unsafe configuration.
    public func oidc(providerID: String) async throws -> OIDCAuthorization {
        try TextRule.check(providerID, of: "providerID")
        let request = try EndpointRequest(.oidcConfiguration, OIDCConfigurationRequest(providerId: providerID))
        let response = try await self.send(request)
        let configuration = try OIDCConfiguration(
            request.endpoint.decode(
                OIDCConfiguration.Response.self,
                from: response,
                of: request.endpoint.path(in: self.configuration.version)
            ),
            providerID: providerID,
            allowsInsecureHTTP: self.configuration.allowsInsecureHTTP
        )
        return OIDCAuthorization(OIDCAttempt(configuration, randomness: self.randomness))
    }

    private struct OIDCConfigurationRequest: Encodable {
        let providerId: String
    }

    /// Activates the user that an OpenID provider signed in, and stores the activation.
    ///
    /// - Parameters:
    ///   - authorization: The attempt from ``oidc(providerID:)``. The provider's response consumes it, even a refusal.
    ///   - callback: The complete redirect address, byte for byte as the browser received it.
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - password: Protects the knowledge factor; at least 4 bytes. Never sent to the server.
    /// - Throws: ``MobileTokenError``: the `oidc…` codes of ``ActivationRequest/init(oidc:callback:)``; `activationFailed` if the
    ///   server rejects the code; and the errors of ``activate(_:password:biometryKey:)``.
    public func activate(
        oidc authorization: OIDCAuthorization,
        callback: String,
        name: String? = nil,
        password: SecretBytes
    ) async throws -> Activation {
        // Check the arguments and the store before the attempt is consumed.
        try Password.validate(password)
        if let name { try NameRule.check(name, of: "an activation") }
        try await self.proveStore()
        var request = try ActivationRequest(oidc: authorization, callback: callback)
        request.name = name
        return try await self.activate(request, password: password).activation
    }

    /// Activates with an OpenID provider and a password held as a string.
    public func activate(
        oidc authorization: OIDCAuthorization,
        callback: String,
        name: String? = nil,
        password: String
    ) async throws -> Activation {
        try await self.activate(
            oidc: authorization,
            callback: callback,
            name: name,
            password: SecretBytes(utf8: password)
        )
    }
}
