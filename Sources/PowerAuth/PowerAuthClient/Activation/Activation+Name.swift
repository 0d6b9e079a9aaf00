import Basics
import PowerAuthProtocol

extension Activation {
    /// Renames the activation at the server and in the store.
    package func setName(to name: String, with authentication: Authentication) async throws {
        try NameRule.check(name, of: "an activation")
        let request = try EndpointRequest(.activationRename, Renaming(activationName: name))
        do {
            try await self.send(with: authentication) { keys in
                try SignedRequest(request, keys: keys)
            } receive: { response, _ in
                let renamed = try self.detail(in: response, of: request.endpoint)
                try await self.updateRecord { $0.name = renamed.activationName }
            }
        } catch let refusal as MobileTokenError where refusal.code == .activationFailed && self.version.isVersion3 {
            // Before 2.2, servers expect the name of a version 3 activation in the envelope itself.
            throw MobileTokenError(
                .notSupported,
                "The server cannot rename activations of version 3 of the protocol; servers can from 2.2 on",
                httpStatus: refusal.httpStatus,
                serverCode: refusal.serverCode,
                underlying: refusal
            )
        }
    }

    /// Returns the activation's name at the server.
    package func fetchName(authenticatedBy authentication: Authentication) async throws -> String? {
        let factors = SignatureType(authentication)
        guard factors.factors.count >= 2 else {
            throw MobileTokenError(.invalidAuthentication, "The server tells the activation's name to two factors only")
        }
        let request = EndpointRequest(.activationDetail(with: factors), in: self.version)
        let response = try await self.send(request, with: authentication)
        return try self.detail(in: response, of: request.endpoint).activationName
    }

    private nonisolated func detail(in response: ServerResponse, of endpoint: ServerEndpoint) throws -> Detail {
        let path = try endpoint.path(in: self.version)
        let detail = try endpoint.decode(Detail.self, from: response, of: path)
        guard detail.activationId.isExactly(self.activationID) else {
            throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation")
        }
        return detail
    }

    private struct Renaming: Encodable { let activationName: String }

    private struct Detail: Decodable {
        let activationId: String
        let activationName: String?
    }
}
