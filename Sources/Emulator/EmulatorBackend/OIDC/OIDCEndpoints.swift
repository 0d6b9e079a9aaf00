import APIDescriptions
import Basics
import EmulatorMessages
import ExactJSON
package import Foundation
import PowerAuthProtocol

/// The built-in OpenID providers, and their configuration for devices.
enum OIDCEndpoints {
    static let routes: [Backend.Route] = [
        .device(
            "POST /api/config/oidc",
            "Tells a device how an OpenID provider is asked.",
            takes: .required(.open()),
            gives: .open(),
            Self.configuration
        ),
        Backend.Route(
            method: "GET",
            path: "/oidc/{provider}/authorize",
            description: RouteDescription(
                "Signs in the user that 'login_hint' names, and leads back to the client.",
                access: .open,
                query: .oidcAuthorization,
                status: 303,
                refusals: [400, 404, 413, 500, 503]
            ),
            handle: Self.authorize
        ),
    ]

    // MARK: - For devices

    /// Returns a provider's configuration. Both protocol versions encrypt the same request for the application.
    static func configuration(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let demand = ApplicationEndpointPolicy(
            proof: .envelope(refusal: Refusal.encryption),
            scope: .application,
            members: ["providerId"]
        )
        let call = try bank.receive(&context, demand)
        guard !call.isEmpty else { throw .unexpected("nothing is encrypted in the envelope") }
        return try bank.respond(Self.configuration(bank, call.content ?? [:], context), to: call, &context)
    }

    private static func configuration(
        _ bank: Backend,
        _ request: JSONObject,
        _ context: RequestContext
    ) throws(Refusal) -> JSONValue {
        guard let id = try? request.optionalString("providerId") ?? "" else {
            throw .encryption("'providerId' is not a string")
        }
        guard let provider = bank.oidcProvider(id) else {
            throw Refusal(
                400,
                "APPLICATION_CONFIGURATION_ERROR",
                "Unable to fetch application configuration.",
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

    private static func authorize(
        _ bank: inout Backend,
        _ context: inout RequestContext
    ) throws(Refusal) -> ServerResponse {
        let provider = context.pathArguments.first ?? ""
        let callback = try bank.callback(from: provider, answering: context.request.query, at: context.now)
        return ServerResponse(
            status: 303,
            headers: [
                ("Location", callback), ("Cache-Control", "no-store"), ("Referrer-Policy", "no-referrer"),
            ],
            body: .bytes([])
        )
    }
}

extension Backend {
    /// Responds to a client's sign-in request instead of the user.
    ///
    /// - Parameters:
    ///   - authorizeURL: The address that the client would open in a browser.
    ///   - userID: The user who signs in; `nil` for the one named in the address.
    ///   - error: The name of an error to return instead of a code, such as `access_denied`.
    /// - Returns: The redirect address.
    package mutating func signIn(
        _ userID: String?,
        at authorizeURL: String,
        error: String? = nil,
        _ now: Date
    ) throws(Refusal) -> String {
        let request = ReceivedRequest(method: "GET", target: authorizeURL)
        // A space's address has a longer prefix.
        let path = request.path.utf8.split(separator: UInt8(ascii: "/")).suffix(3).map { String(Substring($0)) }
        guard path.count == 3, path[0].isExactly("oidc"), path[2].isExactly("authorize") else {
            throw .invalid("authorizeUrl", "is not the address of a provider")
        }
        let (provider, now) = (path[1], now.milliseconds)
        return try self.callback(from: provider, answering: request.query, userID, error: error, at: now)
    }

    fileprivate mutating func callback(
        from providerID: String,
        answering query: [(name: String, value: String)],
        _ userID: String? = nil,
        error: String? = nil,
        at now: Milliseconds
    ) throws(Refusal) -> String {
        guard let provider = self.oidcProvider(providerID) else {
            throw Refusal(404, "ERROR_NOT_FOUND", "There is no such provider, or it is switched off")
        }
        let request: OIDCAuthorizationRequest
        switch try OIDCAuthorizationRequest.read(query, provider) {
        case .error(let error, let state): return provider.callback(("error", error), state)
        case .request(let found): request = found
        }
        if let error { return provider.callback(("error", error), request.state) }
        guard let userID = userID ?? request.loginHint else {
            throw .invalidRequest("'login_hint' does not name the user; POST /_emulator/oidc/codes signs one in, too")
        }
        guard (1...255).contains(userID.utf8.count),
            !userID.unicodeScalars.contains(where: { $0.properties.generalCategory == .control })
        else { throw .invalidRequest("The user's name is empty, longer than 255 bytes, or has a control character") }
        let grant = OIDCGrant(request, provider, userID: userID, at: now)
        return provider.callback(("code", self.issueCode(for: grant, at: now)), request.state)
    }
}

extension EmulatorOIDCProvider {
    /// Returns the redirect address to the client.
    fileprivate func callback(_ result: (name: String, value: String), _ state: String?) -> String {
        let separator = self.redirectURL.utf8.contains(UInt8(ascii: "?")) ? "&" : "?"
        let query = "\(result.name)=\(PercentEncoding.encode(result.value))"
        return self.redirectURL + separator + query + (state.map { "&state=" + PercentEncoding.encode($0) } ?? "")
    }
}
