import EmulatorMessages

// What the OpenID providers take and give.

extension [RouteDescription.Parameter] {
    static let oidcAuthorization: Self = [
        .init("response_type", .oneOf(["code"]), isRequired: true, "The flow."),
        .init("client_id", .word, isRequired: true, "The client."),
        .init("redirect_uri", .word, isRequired: true, "Where to lead back to, as it is registered."),
        .init("scope", .word, isRequired: true, "What is asked for, 'openid' among it."),
        .init("state", .string, "Led back with the result."),
        .init("nonce", .word, isRequired: true, "Stands in the ID token."),
        .init("code_challenge", .string, "SHA-256 of the client's secret, in base64url."),
        .init("code_challenge_method", .oneOf(["S256"]), "How the challenge was made."),
    ]
}

extension Schema {
    static let oidcDecision = Self.object(
        "OIDCDecision",
        [
            .required("decision", .oneOf(["allow", "deny"])),
            .optional("user", .word, "Who signs in."),
        ]
    )

    static let oidcTokenRequest = Self.object(
        "OIDCTokenRequest",
        [
            .required("grant_type", .oneOf(["authorization_code"])), .required("client_id", .word),
            .required("code", .word), .required("redirect_uri", .word),
            .required("code_verifier", .word, "The client's secret."),
        ]
    )

    static let oidcTokens = Self.object(
        "OIDCTokens",
        [
            .required("access_token", .string, "Opens nothing here."), .required("token_type", .oneOf(["Bearer"])),
            .required("expires_in", .count), .required("id_token", .string), .required("scope", .string),
        ]
    )

    static let oidcKeys = Self.object(
        "OIDCKeys",
        [
            .required(
                "keys",
                .list(
                    of: .object(
                        ["alg", "crv", "kid", "kty", "use", "x", "y"].map { .required($0, .string) }
                    )
                )
            )
        ]
    )

    static let oidcDiscovery = Self.object(
        "OIDCDiscovery",
        ["issuer", "authorization_endpoint", "token_endpoint", "jwks_uri"].map { .required($0, .string) }
            + [
                "scopes_supported", "response_types_supported", "grant_types_supported", "subject_types_supported",
                "id_token_signing_alg_values_supported", "token_endpoint_auth_methods_supported",
                "code_challenge_methods_supported",
            ].map { .required($0, .strings) }
    )

    static let oidcProviderSettings = Self.object(
        "OIDCProviderSettings",
        [
            .optional("clientId", .word), .optional("scopes", .word, "'openid' among them."),
            .optional("redirectUri", .word, "Where the provider leads back to."),
            .optional("pkceEnabled", .boolean, "Whether PKCE is asked for."),
            .optional("codeLifetime", .number(0.001...31_536_000), "How many seconds a code can be used."),
            .optional("enabled", .boolean, "Whether the provider can be used."),
        ]
    )

    static let oidcProvider = Self.object(
        "OIDCProvider",
        [
            .required("providerId", .string), .required("clientId", .string), .required("scopes", .string),
            .required("redirectUri", .string), .required("pkceEnabled", .boolean), .required("codeLifetime", .number),
            .required("enabled", .boolean),
        ]
    )

    static let oidcProviders = Self.object("OIDCProviders", [.required("providers", .list(of: .oidcProvider))])
}
