import Basics
import EmulatorMessages
import ExactJSON
import PowerAuthCrypto
import PowerAuthProtocol

/// The OpenID providers that are built in, and what devices are told of them.
enum OIDCEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST",
            "/api/config/oidc",
            "Tells a device how an OpenID provider is asked.",
            takes: .required(.open()),
            gives: .open(),
            Self.configuration
        ),
        .provider("GET", "/.well-known/openid-configuration", "Describes the provider.", gives: .json(.oidcDiscovery)) {
            (bank, context) throws(Refusal) in
            let (_, issuer) = try Self.provider(bank, context)
            return .json(Self.discovery(issuer: issuer))
        },
        .provider("GET", "/jwks", "Shows the provider's public key.", gives: .json(.oidcKeys)) {
            (bank, context) throws(Refusal) in
            _ = try Self.provider(bank, context)
            return .json(["keys": [Self.json(try bank.oidcSigningKey().publicKey)]])
        },
        .provider(
            "GET",
            "/authorize",
            "Shows the page to sign in.",
            asks: .oidcAuthorization,
            gives: .other(type: OIDCPage.type),
            Self.showPage
        ),
        .provider(
            "POST",
            "/authorize",
            "Signs a user in, and leads back to the client.",
            asks: .oidcAuthorization,
            takes: .form(.oidcDecision),
            status: 303,
            gives: .nothing,
            Self.decide
        ),
        .provider(
            "POST",
            "/token",
            "Exchanges a code for an ID token. The client is public: the code must have been asked for with PKCE.",
            takes: .form(.oidcTokenRequest),
            gives: .json(.oidcTokens),
            Self.exchange
        ),
    ]

    // MARK: - For devices

    /// Both versions of the protocol encrypt the same request for the application.
    static func configuration(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let demand = AnnotatedDemand(
            proof: .envelope(refusal: Refusal.encryption),
            scope: .application,
            members: ["providerId"]
        )
        let call = try bank.receive(&context, demand)
        return try bank.respond(Self.configuration(bank, call.content ?? [:], context), to: call, &context)
    }

    private static func configuration(
        _ bank: Backend,
        _ request: JSONObject,
        _ context: RequestContext
    ) throws(Refusal) -> JSONValue {
        guard let id = try? request.optionalString("providerId"), let provider = bank.oidcProvider(id) else {
            throw Refusal(
                400,
                "APPLICATION_CONFIGURATION_ERROR",
                "The application is not configured for it",
                because: "there is no such provider, or it is switched off"
            )
        }
        return .wrapped([
            "providerId": .string(provider.id), "clientId": .string(provider.clientID),
            "scopes": .string(provider.scopes),
            "authorizeUri": .string(Self.issuer(of: provider, context) + "/authorize"),
            "redirectUri": .string(provider.redirectURL), "pkceEnabled": .bool(provider.requiresPKCE),
        ])
    }

    // MARK: - The provider

    private static func issuer(of provider: EmulatorOIDCProvider, _ context: RequestContext) -> String {
        "\(context.request.origin ?? "")/oidc/\(provider.id)"
    }

    private static func provider(
        _ bank: Backend,
        _ context: RequestContext
    ) throws(Refusal) -> (EmulatorOIDCProvider, issuer: String) {
        guard let provider = context.pathArguments.first.flatMap(bank.oidcProvider) else {
            throw Refusal(404, "PROVIDER_NOT_FOUND", "There is no such provider, or it is switched off")
        }
        return (provider, Self.issuer(of: provider, context))
    }

    private static func discovery(issuer: String) -> JSONValue {
        [
            "issuer": .string(issuer),
            "authorization_endpoint": .string(issuer + "/authorize"),
            "token_endpoint": .string(issuer + "/token"),
            "jwks_uri": .string(issuer + "/jwks"),
            "scopes_supported": ["openid"],
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
        ]
    }

    private static func showPage(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let (provider, _) = try Self.provider(bank, context)
        switch try OIDCAuthorizationRequest.read(context.request.query, provider) {
        case .request(let request): return OIDCPage.asking(request, provider)
        case .error(let error, _): return OIDCPage.refusing(error, provider)
        }
    }

    private static func decide(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let (provider, _) = try Self.provider(bank, context)
        let form = try OIDCParameters(form: context.request.body)
        switch try OIDCAuthorizationRequest.read(context.request.query, provider) {
        case .error(let error, let state):
            return Self.leadBack(to: provider, [("error", error)], state)
        case .request(let request):
            guard form["decision"] == "allow" else {
                return Self.leadBack(to: provider, [("error", "access_denied")], request.state)
            }
            guard let user = form["user"], user.utf8.count <= 255,
                !user.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
            else { throw .invalidRequest("'user' is missing, longer than 255 bytes, or holds a control character") }
            let grant = OIDCGrant(request, provider, userID: user, at: context.now)
            return Self.leadBack(to: provider, [("code", bank.issueCode(for: grant, at: context.now))], request.state)
        }
    }

    private static func leadBack(
        to provider: EmulatorOIDCProvider,
        _ result: [(name: String, value: String)],
        _ state: String?
    ) -> ServerResponse {
        let parameters = result + (state.map { [("state", $0)] } ?? [])
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encode($0.value))" }.joined(separator: "&")
        let separator = provider.redirectURL.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        return ServerResponse(
            status: 303,
            headers: [
                ("Location", provider.redirectURL + separator + query), ("Cache-Control", "no-store"),
                ("Referrer-Policy", "no-referrer"),
            ],
            body: .bytes([])
        )
    }

    // MARK: - Tokens

    private static func exchange(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal)
        -> ServerResponse
    {
        let (provider, issuer) = try Self.provider(bank, context)
        let form = try OIDCParameters(form: context.request.body)
        guard form["grant_type"] == "authorization_code" else {
            throw Refusal.invalidRequest("'grant_type' is not authorization_code").oauth("unsupported_grant_type")
        }
        guard form["client_id"]?.isExactly(provider.clientID) == true else {
            throw Refusal.invalidRequest("'client_id' is not that of the provider's client").oauth("invalid_client")
        }
        guard let code = form["code"], let redirect = form["redirect_uri"] else {
            throw Refusal.invalidRequest("'code' or 'redirect_uri' is missing").oauth("invalid_request")
        }
        let (key, grant): (String, OIDCGrant)
        do throws(OIDCGrant.Objection) {
            (key, grant) = try bank.oidcGrant(of: code)
            // Nothing else says who this client is.
            guard grant.challenge != nil else { throw OIDCGrant.Objection.missingVerifier }
            try grant.check(providerID: provider.id, verifier: form["code_verifier"], at: context.now)
        } catch {
            throw Refusal.invalidRequest(error.rawValue).oauth("invalid_grant")
        }
        guard grant.redirectURL.isExactly(redirect) else {
            throw Refusal.invalidRequest("'redirect_uri' is another one").oauth("invalid_grant")
        }
        let accessToken = Base64URL.encode(bank.state.randomness.bytes(32))
        let token = try bank.idToken(for: grant, issuer: issuer, accessToken: accessToken, at: context.now)
        bank.state.oidcGrants.update(key) { $0.use() }
        var response = ServerResponse.json([
            "access_token": .string(accessToken), "token_type": "Bearer",
            "expires_in": .number(JSONNumber(Self.tokenLifetime)), "id_token": .string(token),
            "scope": .string(grant.scopes),
        ]
        )
        response.headers.append(("Cache-Control", "no-store"))
        return response
    }

    /// In seconds.
    fileprivate static var tokenLifetime: Int64 { 300 }

    /// The members of a key of RFC 7517, in the order in which RFC 7638 hashes those that it takes.
    private static func json(_ key: P256PublicKey) -> JSONValue {
        let (x, y) = (key.uncompressed[1..<33], key.uncompressed[33...])
        return [
            "alg": "ES256", "crv": "P-256", "kid": .string(key.thumbprint), "kty": "EC", "use": "sig",
            "x": .string(Base64URL.encode(Array(x))), "y": .string(Base64URL.encode(Array(y))),
        ]
    }
}

extension P256PublicKey {
    /// The thumbprint of RFC 7638.
    fileprivate var thumbprint: String {
        let (x, y) = (
            Base64URL.encode(Array(self.uncompressed[1..<33])), Base64URL.encode(Array(self.uncompressed[33...]))
        )
        return Base64URL.encode(SHA256.hash(Array(#"{"crv":"P-256","kty":"EC","x":"\#(x)","y":"\#(y)"}"#.utf8)))
    }
}

extension Backend {
    /// The key that signs for the providers. It follows from the application's, so that nothing else needs to be kept.
    fileprivate func oidcSigningKey() throws(Refusal) -> P256PrivateKey {
        guard let application = self.state.applications[self.defaultApplicationID],
            let key = try? application.derivedKey(label: "emulator/oidc/signing")
        else { throw Refusal(500, "ERROR_GENERIC", "The provider's key cannot be made") }
        return key
    }

    private struct Claims: Encodable {
        let iss: String
        let sub: String
        let aud: String
        let nonce: String
        let iat: Int64
        let exp: Int64
        let auth_time: Int64
        let at_hash: String
    }

    fileprivate func idToken(
        for grant: OIDCGrant,
        issuer: String,
        accessToken: String,
        at now: Milliseconds
    ) throws(Refusal) -> String {
        let key = try self.oidcSigningKey()
        let claims = Claims(
            iss: issuer,
            sub: grant.userID,
            aud: grant.clientID,
            nonce: grant.nonce,
            iat: now / 1000,
            exp: now / 1000 + OIDCEndpoints.tokenLifetime,
            auth_time: grant.issued / 1000,
            at_hash: Base64URL.encode(Array(SHA256.hash(Array(accessToken.utf8)).prefix(16)))
        )
        do {
            return try JSONWebToken.encode(claims: claims, algorithm: .es256, keyID: key.publicKey.thumbprint) {
                (input) throws(CryptoError) in
                try key.rawSignature(for: input)
            }
        } catch {
            throw Refusal(500, "ERROR_GENERIC", "The token cannot be signed")
        }
    }
}

extension ServerApplication {
    /// Returns a key for another purpose, the same after each reading of the state.
    fileprivate func derivedKey(label: String) throws(CryptoError) -> P256PrivateKey {
        // All but one number in 2³² is a key.
        for attempt in 0..<UInt8(16) {
            let scalar = try Version4.KeyDerivation.derive(
                self.masterKey.scalar,
                label: label,
                diversifier: [attempt],
                count: P256.curve.coordinateByteCount
            )
            if let key = try? P256PrivateKey(scalar: scalar) { return key }
        }
        throw CryptoError(.invalidPrivateKey)
    }
}
