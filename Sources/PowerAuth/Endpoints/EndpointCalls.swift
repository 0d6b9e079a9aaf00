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
            guard let (keys, path) = self.encryption(of: endpoint) else {
                response = try await self.server.post(
                    endpoint.path,
                    for: self.activationID,
                    headers: headers,
                    body: plaintext
                )
                break
            }
            response = try await keys.send(endpoint.path, headers: headers) { key in
                try keys.encrypt(plaintext, for: path, with: key)
            }
        case .token(let name):
            guard let (keys, path) = self.encryption(of: endpoint) else {
                let body = RequestBody(bytes: plaintext)
                response = try await self.postWithToken(name, path: endpoint.path, headers: headers) { body }
                break
            }
            response = try await self.postWithToken(name, path: endpoint.path, headers: headers) {
                try await keys.encrypt(plaintext, for: path)
            }
        case .signature(let uriID):
            let encryption = self.encryption(of: endpoint)
            let request = SignedRequest(
                path: endpoint.path,
                uriID: uriID,
                keys: try await self.signingKeys(for: authentication),
                headers: headers,
                body: {
                    guard let (keys, path) = encryption else { return RequestBody(bytes: plaintext) }
                    return try await keys.encrypt(plaintext, for: path)
                }
            )
            response = try await self.send(request) { $0 }
        }
        return try endpoint.decode(response)
    }

    private nonisolated func encryption<Request, Response>(
        of endpoint: PowerAuthEndpoint<Request, Response>
    ) -> (EncryptionKeys, ECIESPurpose)? {
        switch endpoint.encryption {
        case nil: nil
        case .application: (self.applicationKeys, .genericApplication)
        case .activation: (self.encryptionKeys, .genericActivation)
        }
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
        let response = try await self.encryptionKeys.send(endpoint.path, headers: headers) { key in
            try self.encryptionKeys.encrypt(plaintext, for: .genericApplication, with: key)
        }
        return try endpoint.decode(response)
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
