import HTTPClientTransport
import PowerAuthProtocol

extension Activation {
    /// Calls an endpoint of the application's own.
    ///
    /// - Parameters:
    ///   - body: The value that is sent, as JSON.
    ///   - authentication: The factors of a signed endpoint, and of a token that is still to be made; of no meaning for others.
    public nonisolated func call<Request, Response>(
        _ endpoint: PowerAuthEndpoint<Request, Response>,
        _ body: Request,
        with authentication: Authentication = .possession,
        acceptLanguage: String? = nil
    ) async throws -> Response {
        let request = try endpoint.request(body)
        return try endpoint.decode(
            try await self.send(request, headers: HTTPHeaders(acceptLanguage: acceptLanguage), with: authentication)
        )
    }

    /// Makes a request as its endpoint's row describes it, and opens the response.
    ///
    /// - Parameter decision: The decision that its signature makes. What became of it comes back with the response or the error.
    nonisolated func send(
        _ request: EndpointRequest,
        headers: HTTPHeaders = [:],
        with authentication: Authentication = .possession,
        deciding decision: DecisionIntent? = nil
    ) async throws -> ChannelResponse {
        try self.checkNotRemoved()
        switch request.endpoint.proof {
        case .none:
            return try await self.sendUnproven(request, in: self.dialect, headers: headers)
        case .token(let name, let factors):
            let demand = TokenDemand(name, factors, with: authentication)
            return try await self.send(request, headers: headers, withToken: demand)
        case .code:
            let ticket = decision.map { DecisionTicket($0) }
            do {
                var response = try await self.send(with: authentication) { keys in
                    try SignedRequest(request, keys: keys, headers: headers, decision: ticket)
                } receive: { response, _ in
                    response
                }
                response.decision = ticket?.signed
                return response
            } catch var error as MobileTokenError {
                error.decision = ticket?.signed
                throw error
            }
        }
    }
}

extension Activation {
    /// Makes a request that nothing proves the sender of.
    ///
    /// - Parameter isRepeatable: `true` if the server may see a request twice without harm, where it is not encrypted.
    nonisolated func sendUnproven(
        _ request: EndpointRequest,
        in dialect: any ActivationDialect,
        headers: HTTPHeaders = [:],
        isRepeatable: Bool = false
    ) async throws -> ChannelResponse {
        let path = try request.endpoint.path(in: dialect.version)
        if let scope = request.endpoint.encryption?.scope {
            return try await dialect.encryption(in: scope).send(path, headers: headers, request.body)
        }
        return try await self.server.post(
            path,
            for: self.activationID,
            headers: headers,
            body: request.body,
            isRepeatable: isRepeatable
        )
    }
}

extension MobileTokenClient {
    /// Calls an endpoint of the application's own that needs no activation: plain, or encrypted for the application.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` when the endpoint asks for an activation.
    public func call<Request, Response>(
        _ endpoint: PowerAuthEndpoint<Request, Response>,
        _ body: Request,
        acceptLanguage: String? = nil
    ) async throws -> Response {
        guard endpoint.authentication == .none, endpoint.encryption != .activation else {
            throw MobileTokenError(.invalidRequest, "The endpoint needs an activation")
        }
        let request = try endpoint.request(body)
        return try endpoint.decode(
            try await self.send(request, headers: HTTPHeaders(acceptLanguage: acceptLanguage))
        )
    }

    /// Makes a request to an endpoint that needs no activation, and opens the response.
    func send(_ request: EndpointRequest, headers: HTTPHeaders = [:]) async throws -> ChannelResponse {
        let path = try request.endpoint.path(in: self.configuration.version)
        guard request.endpoint.encryption != nil else {
            return try await self.server.post(path, for: nil, headers: headers, body: request.body)
        }
        return try await self.encryptionKeys.standard.send(path, headers: headers, request.body)
    }
}

extension PowerAuthEndpoint {
    /// The row that describes the endpoint.
    private var row: ServerEndpoint {
        ServerEndpoint(
            .path(self.path),
            self.authentication.proof,
            self.encryption.map { ServerEndpoint.Encryption(scope: $0, sharedInfo: .generic) },
            .signThenEncrypt,
            ServerEndpoint.Wrapping(request: self.wrapsRequest, response: self.wrapsResponse)
        )
    }

    fileprivate func request(_ body: Request) throws(MobileTokenError) -> EndpointRequest {
        if body is EmptyBody { return EndpointRequest(self.row, body: Array("{}".utf8)) }
        return try EndpointRequest(self.row, body)
    }

    fileprivate func decode(_ response: ChannelResponse) throws -> Response {
        if let empty = EmptyBody() as? Response { return empty }
        return try self.row.decode(Response.self, from: response, of: self.path)
    }
}

extension HTTPHeaders {
    fileprivate init(acceptLanguage: String?) {
        self = [:]
        if let acceptLanguage { self["Accept-Language"] = acceptLanguage }
    }
}
