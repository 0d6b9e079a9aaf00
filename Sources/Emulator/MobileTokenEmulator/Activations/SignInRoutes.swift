import APIDescriptions
import EmulatorBackend

/// An OpenID provider's response to a client's sign-in request.
struct SignIn: Described {
    var authorizeURL: String
    var userID: String?
    var error: String?

    static let fields = FieldTable(
        "SignIn",
        SignIn.init(authorizeURL:userID:error:),
        .required(
            "authorizeUrl",
            \.authorizeURL,
            .word,
            "The address that the client would open in a browser.",
            example: """
                http://127.0.0.1:8080/oidc/emulator/authorize?response_type=code&client_id=mobile-token&scope=openid\
                &redirect_uri=mtoken%3A%2F%2Foidc&state=x&nonce=y\
                &code_challenge=E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM&code_challenge_method=S256
                """
        ),
        .optional("userId", \.userID, .word, "The user who signs in.", example: "alice"),
        .optional("error", \.error, .word, "In place of the user: the error to answer with, such as access_denied.")
    ).stating(.either("userId", or: "error"))
}

extension ControlAPI {
    static let signInRoutes = [
        Route(
            "POST /oidc/codes",
            named: "signIn",
            "Signs a user in at an OpenID provider of the server, in the place of a browser.",
            takes: Call.body(SignIn.form),
            gives: FieldTable(
                "SignInCallback",
                .required("callback", \.self, .string, "The address to give to the client, with a code or an error.")
            ).form,
            refuses: [404]
        ) { control, signIn in try await control.core.signIn(signIn) }
    ]
}

extension EmulatorCore {
    func signIn(_ signIn: SignIn) async throws -> String {
        try await self.change { state in
            let now = state.time.now()
            return (try state.backend.signIn(signIn.userID, at: signIn.authorizeURL, error: signIn.error, now), [])
        }
    }
}

extension Emulator {
    /// Signs a user in at one of the server's OpenID providers, in place of a browser.
    ///
    /// ```swift
    /// let authorization = try await client.oidc(providerID: "emulator")
    /// let callback = try await emulator.signIn("alice", at: authorization.authorizeURL)
    /// let activation = try await client.activate(oidc: authorization, callback: callback, password: password)
    /// ```
    ///
    /// - Parameters:
    ///   - userID: The user who signs in.
    ///   - authorizeURL: The address that the client would open in a browser.
    /// - Returns: The address to give to the client: with a code, or with an error if the client's request is wrong.
    /// - Throws: ``EmulatorError`` of code `notFound` if there is no such provider, or `refused`.
    public func signIn(_ userID: String, at authorizeURL: String) async throws(EmulatorError) -> String {
        try await self.answer(SignIn(authorizeURL: authorizeURL, userID: userID))
    }

    /// Answers a client's sign-in request with an error, in place of a browser.
    ///
    /// - Parameters:
    ///   - authorizeURL: The address that the client would open in a browser.
    ///   - error: The name of the error, as in RFC 6749.
    /// - Returns: The address to give to the client.
    /// - Throws: ``EmulatorError`` of code `notFound` if there is no such provider, or `refused`.
    public func refuseSignIn(
        at authorizeURL: String,
        error: String = "access_denied"
    ) async throws(EmulatorError) -> String {
        try await self.answer(SignIn(authorizeURL: authorizeURL, error: error))
    }

    private func answer(_ signIn: SignIn) async throws(EmulatorError) -> String {
        do {
            return try await self.core.signIn(signIn)
        } catch let refusal as Refusal where refusal.status == 400 {
            throw EmulatorError(.refused, refusal.message)
        } catch {
            throw EmulatorError(any: error)
        }
    }
}
