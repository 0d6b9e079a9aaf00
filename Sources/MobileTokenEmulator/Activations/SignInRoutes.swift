import APIDescriptions
import EmulatorBackend

/// The answer of an OpenID provider to a client that wants a user to sign in.
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

/// The address that leads back to a client.
struct SignInCallback: Described {
    let callback: String

    static let fields = FieldTable(
        "SignInCallback",
        SignInCallback.init(callback:),
        .required("callback", \.callback, .string, "The address to give to the client, with a code or an error.")
    )
}

extension ControlAPI {
    static let signInRoutes = [
        Route(
            .control(
                "POST",
                "/oidc/codes",
                named: "signIn",
                "Signs a user in at an OpenID provider of the server, in the place of a browser.",
                takes: Call.body(SignIn.form),
                gives: SignInCallback.form,
                refuses: [404]
            )
        ) { control, signIn in SignInCallback(callback: try await control.core.signIn(signIn)) }
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
    /// Signs a user in at an OpenID provider of the server, in the place of a browser.
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
    /// - Returns: The address to give to the client: with a code, or with an error when the client's request is wrong.
    /// - Throws: ``EmulatorError`` of code `notFound` when there is no such provider, or `refused`.
    public func signIn(_ userID: String, at authorizeURL: String) async throws(EmulatorError) -> String {
        try await self.answer(SignIn(authorizeURL: authorizeURL, userID: userID))
    }

    /// Answers a client that wants a user to sign in with an error, in the place of a browser.
    ///
    /// - Parameters:
    ///   - authorizeURL: The address that the client would open in a browser.
    ///   - error: The name of the error, as RFC 6749 has it.
    /// - Returns: The address to give to the client.
    /// - Throws: ``EmulatorError`` of code `notFound` when there is no such provider, or `refused`.
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
