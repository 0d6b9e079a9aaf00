import EmulatorMessages
import ExactJSON
import PowerAuthProtocol

/// How the OpenID providers are set up while the server runs.
enum OIDCProviderEndpoints {
    static let routes: [Backend.Route] = [
        .cloud("GET", "/v2/oidc/providers", "Lists OpenID providers.", gives: .oidcProviders, Self.list),
        .cloud(
            "PUT",
            "/v2/oidc/providers/{id}",
            adds: .oidcProvider,
            "Creates or changes an OpenID provider; what is left out stays as it is.",
            takes: .required(.oidcProviderSettings),
            gives: .oidcProvider,
            Self.change
        ),
        .cloud("DELETE", "/v2/oidc/providers/{id}", "Removes an OpenID provider.", gives: .done, Self.remove),
    ]

    private static func list(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse {
        let providers = bank.state.oidcProviders.values.sorted { $0.id < $1.id }
        return .json(["providers": .array(providers.map(Self.presented))])
    }

    private static func change(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        let id = context.pathArguments.first ?? ""
        let settings = try context.json()
        var provider = bank.state.oidcProviders[id] ?? EmulatorOIDCProvider(id: id)
        provider.clientID = try settings.optionalString("clientId") ?? provider.clientID
        provider.scopes = try settings.optionalString("scopes") ?? provider.scopes
        provider.redirectURL = try settings.optionalString("redirectUri") ?? provider.redirectURL
        provider.requiresPKCE = try settings.optionalBool("pkceEnabled") ?? provider.requiresPKCE
        provider.isEnabled = try settings.optionalBool("enabled") ?? provider.isEnabled
        let lifetime = settings["codeLifetime"]?.number.flatMap { Double($0.literal) }
        provider.codeLifetime = lifetime ?? provider.codeLifetime
        do { try provider.check() } catch { throw .invalidRequest(error.message) }
        bank.state.oidcProviders[provider.id] = provider
        return .json(Self.presented(provider))
    }

    private static func remove(_ bank: inout Backend, _ context: inout RequestContext) throws(Refusal) -> ServerResponse
    {
        guard let id = context.pathArguments.first, bank.state.oidcProviders[id] != nil else {
            throw Refusal(404, "PROVIDER_NOT_FOUND", "There is no such provider")
        }
        bank.state.oidcProviders[id] = nil
        return .ok
    }

    private static func presented(_ provider: EmulatorOIDCProvider) -> JSONValue {
        [
            "providerId": .string(provider.id), "clientId": .string(provider.clientID),
            "scopes": .string(provider.scopes), "redirectUri": .string(provider.redirectURL),
            "pkceEnabled": .bool(provider.requiresPKCE), "codeLifetime": .init(floatLiteral: provider.codeLifetime),
            "enabled": .bool(provider.isEnabled),
        ]
    }
}
