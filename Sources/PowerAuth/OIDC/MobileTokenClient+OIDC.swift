public import PowerAuthCrypto
import PowerAuthProtocol

extension MobileTokenClient {
    /// Begins an activation with an OpenID provider.
    ///
    /// The server is asked, in an encrypted request, where the provider is and how it is to be asked; random state, nonce and
    /// PKCE verifier are made for this attempt alone.
    ///
    /// - Parameter providerID: The provider, as the server's administrator named it.
    /// - Returns: The attempt, whose ``OIDCAuthorization/authorizeURL`` is to be opened in a browser.
    /// - Throws: ``MobileTokenError``, such as `serverConfigurationFailed` for a provider that the server does not know, and
    ///   `invalidResponse` for a configuration that cannot be used safely.
    public func oidc(providerID: String) async throws -> OIDCAuthorization {
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
        return OIDCAuthorization(OIDCAttempt(configuration, randomness: self.server.randomness))
    }

    private struct OIDCConfigurationRequest: Encodable {
        let providerId: String
    }

    /// Activates the user whom an OpenID provider signed in, and stores the activation.
    ///
    /// - Parameters:
    ///   - authorization: The attempt that ``oidc(providerID:)`` returned. It is used up by the provider's answer, also by a refusal.
    ///   - callback: The address that the provider led back to, whole and byte by byte as the browser was given it.
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - password: Protects the knowledge factor; at least 4 bytes. The server never sees it.
    /// - Throws: ``MobileTokenError``: the `oidc…` codes of ``ActivationRequest/init(oidc:callback:)``; `activationFailed` when
    ///   the server does not accept the code; and those of ``activate(_:password:biometryKey:)``.
    public func activate(
        oidc authorization: OIDCAuthorization,
        callback: String,
        name: String? = nil,
        password: SecretBytes
    ) async throws -> Activation {
        // Mistakes in the call, and a store that cannot be written, are found before the attempt is used up.
        try Password.validate(password)
        if let name { try NameRule.check(name, of: "an activation") }
        try await self.proveStore()
        var request = try ActivationRequest(oidc: authorization, callback: callback)
        request.name = name
        return try await self.activate(request, password: password).activation
    }

    /// Activates with an OpenID provider, and with a password that is a string.
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
