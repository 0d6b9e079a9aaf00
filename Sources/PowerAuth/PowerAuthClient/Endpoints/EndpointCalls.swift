package import DecisionReceipts
package import HTTPClientTransport

extension Activation {
    /// Makes a request as described by its endpoint, and decrypts the response.
    ///
    /// - Parameter decision: The decision that the signature makes. The response or the error carries its outcome.
    package nonisolated func send(
        _ request: EndpointRequest,
        headers: HTTPHeaders = [:],
        with authentication: Activation.Authentication = .possession,
        deciding decision: DecisionIntent? = nil
    ) async throws -> ServerResponse {
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
    ) async throws -> ServerResponse {
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
    /// Makes a request without an activation, and decrypts the response.
    package func send(_ request: EndpointRequest, headers: HTTPHeaders = [:]) async throws -> ServerResponse {
        let path = try request.endpoint.path(in: self.configuration.version)
        guard request.endpoint.encryption != nil else {
            return try await self.server.post(path, for: nil, headers: headers, body: request.body)
        }
        return try await self.encryptionKeys.standard.send(path, headers: headers, request.body)
    }
}
