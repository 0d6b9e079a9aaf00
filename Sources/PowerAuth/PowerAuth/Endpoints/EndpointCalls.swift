import HTTPClientTransport
import PowerAuthProtocol

extension Activation {
    /// Calls an endpoint of the application's own.
    ///
    /// - Parameters:
    ///   - body: The value to send as JSON.
    ///   - authentication: The factors of a signed endpoint or of a new token; otherwise ignored.
    public nonisolated func call<Request, Response>(
        _ endpoint: PowerAuthEndpoint<Request, Response>,
        _ body: Request,
        with authentication: Activation.Authentication = .possession,
        acceptLanguage: String? = nil
    ) async throws -> Response {
        let request = try endpoint.request(body)
        return try endpoint.decode(
            try await self.send(request, headers: HTTPHeaders(acceptLanguage: acceptLanguage), with: authentication)
        )
    }

    /// Makes a request as described by its endpoint, and decrypts the response.
    ///
    /// - Parameter decision: The decision that the signature makes. The response or the error carries its outcome.
    nonisolated func send(
        _ request: EndpointRequest,
        headers: HTTPHeaders = [:],
        with authentication: Activation.Authentication = .possession,
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
    /// Makes a request without authentication.
    ///
    /// - Parameter isRepeatable: `true` if the server may safely receive an unencrypted request twice.
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
    /// Calls an endpoint of the application's own without an activation, plain or encrypted in the application scope.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidRequest`` if the endpoint requires an activation.
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

    /// Makes a request without an activation, and decrypts the response.
    func send(_ request: EndpointRequest, headers: HTTPHeaders = [:]) async throws -> ChannelResponse {
        let path = try request.endpoint.path(in: self.configuration.version)
        guard request.endpoint.encryption != nil else {
            return try await self.server.post(path, for: nil, headers: headers, body: request.body)
        }
        return try await self.encryptionKeys.standard.send(path, headers: headers, request.body)
    }
}

extension PowerAuthEndpoint {
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
        if body is PowerAuthEmptyBody { return EndpointRequest(self.row, body: Array("{}".utf8)) }
        return try EndpointRequest(self.row, body)
    }

    fileprivate func decode(_ response: ChannelResponse) throws -> Response {
        if let empty = PowerAuthEmptyBody() as? Response { return empty }
        return try self.row.decode(Response.self, from: response, of: self.path)
    }
}

extension HTTPHeaders {
    fileprivate init(acceptLanguage: String?) {
        self = [:]
        if let acceptLanguage { self["Accept-Language"] = acceptLanguage }
    }
}
