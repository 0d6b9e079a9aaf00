import APIDescriptions

// The query of a client's request to an OpenID provider.

extension [RouteDescription.Parameter] {
    static let oidcAuthorization: Self = [
        .init("response_type", .oneOf(["code"]), isRequired: true, "The flow."),
        .init("client_id", .word, isRequired: true, "The client."),
        .init("redirect_uri", .word, isRequired: true, "The address to lead back to, as it is registered."),
        .init("scope", .word, isRequired: true, "The scopes that are asked for, 'openid' among them."),
        .init("state", .string, "Led back with the result."),
        .init("nonce", .word, isRequired: true, "Shown again by the device that uses the code."),
        .init("code_challenge", .string, "SHA-256 of the client's secret, in base64url."),
        .init("code_challenge_method", .oneOf(["S256"]), "The method of the challenge."),
        .init("login_hint", .word, isRequired: true, "The user who signs in."),
    ]
}
