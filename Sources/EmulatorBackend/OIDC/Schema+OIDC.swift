import APIDescriptions

// The query that a client asks an OpenID provider with.

extension [RouteDescription.Parameter] {
    static let oidcAuthorization: Self = [
        .init("response_type", .oneOf(["code"]), isRequired: true, "The flow."),
        .init("client_id", .word, isRequired: true, "The client."),
        .init("redirect_uri", .word, isRequired: true, "Where to lead back to, as it is registered."),
        .init("scope", .word, isRequired: true, "What is asked for, 'openid' among it."),
        .init("state", .string, "Led back with the result."),
        .init("nonce", .word, isRequired: true, "Shown again by the device that uses the code."),
        .init("code_challenge", .string, "SHA-256 of the client's secret, in base64url."),
        .init("code_challenge_method", .oneOf(["S256"]), "How the challenge was made."),
        .init("login_hint", .word, isRequired: true, "The user who signs in."),
    ]
}
