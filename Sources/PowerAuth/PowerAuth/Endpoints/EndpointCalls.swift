import HTTPClientTransport
public import PowerAuthClient

extension Activation {
    /// Calls an endpoint of the application's own.
    ///
    /// - Parameters:
    ///   - endpoint: The description of the call.
    ///   - body: The value to send as JSON.
    ///   - authentication: The factors of a signed endpoint or of a new token; otherwise ignored.
    ///   - acceptLanguage: The value of `Accept-Language`. Default: none.
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
}

extension PowerAuthEndpoint {
    private var row: ServerEndpoint {
        ServerEndpoint(
            self.path,
            self.authentication.proof,
            in: self.encryption?.envelope,
            wrapsRequest: self.wrapsRequest,
            wrapsResponse: self.wrapsResponse
        )
    }

    fileprivate func request(_ body: Request) throws(MobileTokenError) -> EndpointRequest {
        if body is PowerAuthEmptyBody { return EndpointRequest(self.row, body: Array("{}".utf8)) }
        return try EndpointRequest(self.row, body)
    }

    fileprivate func decode(_ response: ServerResponse) throws -> Response {
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
