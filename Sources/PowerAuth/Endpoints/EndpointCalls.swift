import HTTPClientTransport
import PowerAuthProtocol

extension Activation {
    /// Calls an endpoint of the application's own.
    ///
    /// - Parameters:
    ///   - body: What is sent, as JSON. A request that is encrypted and signed is encrypted first.
    ///   - authentication: The factors of a signed endpoint; of no meaning for others.
    public nonisolated func call<Request, Response>(
        _ endpoint: PowerAuthEndpoint<Request, Response>,
        _ body: Request,
        with authentication: Authentication = .possession,
        acceptLanguage: String? = nil
    ) async throws -> Response {
        try self.checkNotRemoved()
        let plaintext = try endpoint.encode(body)
        let headers = HTTPHeaders(acceptLanguage: acceptLanguage)
        let response: ChannelResponse
        switch endpoint.authentication.kind {
        case .none:
            guard let scope = endpoint.encryption else {
                response = try await self.server.post(
                    endpoint.path,
                    for: self.activationID,
                    headers: headers,
                    body: plaintext
                )
                break
            }
            response = try await self.dialect.encryption(in: scope).send(endpoint.path, headers: headers, plaintext)
        case .token(let name):
            response = try await self.postWithToken(name, path: endpoint.path, headers: headers) {
                try await self.body(of: endpoint, plaintext, in: self.dialect)
            }
        case .signature(let uriID):
            response = try await self.send(with: authentication) { keys in
                SignedRequest(path: endpoint.path, uriID: uriID, keys: keys, headers: headers) {
                    try await self.body(of: endpoint, plaintext, in: keys.dialect)
                }
            } receive: {
                $0
            }
        }
        return try endpoint.decode(response)
    }

    private nonisolated func body<Request, Response>(
        of endpoint: PowerAuthEndpoint<Request, Response>,
        _ plaintext: [UInt8],
        in dialect: any ActivationDialect
    ) async throws -> RequestBody {
        guard let scope = endpoint.encryption else { return RequestBody(bytes: plaintext) }
        return try await dialect.encryption(in: scope).encrypt(plaintext, for: .generic)
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
        let plaintext = try endpoint.encode(body)
        let headers = HTTPHeaders(acceptLanguage: acceptLanguage)
        guard endpoint.encryption != nil else {
            return try endpoint.decode(
                try await self.server.post(endpoint.path, for: nil, headers: headers, body: plaintext)
            )
        }
        return try endpoint.decode(
            try await self.encryptionKeys.standard.send(endpoint.path, headers: headers, plaintext)
        )
    }
}

extension PowerAuthEndpoint {
    fileprivate func encode(_ body: Request) throws -> [UInt8] {
        if body is EmptyBody { return Array("{}".utf8) }
        return self.isWrapped ? try Wire.encode(Wire.Request(requestObject: body)) : try Wire.encode(body)
    }

    fileprivate func decode(_ response: ChannelResponse) throws -> Response {
        if let empty = EmptyBody() as? Response { return empty }
        guard self.isWrapped else { return try Wire.decode(Response.self, from: response, of: self.path) }
        return try Wire.decode(Wire.Response<Response>.self, from: response, of: self.path).responseObject
    }
}

extension HTTPHeaders {
    fileprivate init(acceptLanguage: String?) {
        self = [:]
        if let acceptLanguage { self["Accept-Language"] = acceptLanguage }
    }
}
