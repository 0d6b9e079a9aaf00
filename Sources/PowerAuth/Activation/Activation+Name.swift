import Basics
import HTTPClientTransport

extension Activation {
    /// Gives the activation another name, at the server and in the store. In version 4 of the protocol only.
    ///
    /// ``name`` of this instance stays the one that it was opened with.
    ///
    /// - Parameters:
    ///   - name: Shown to the user in lists of activations: 1 to 255 bytes of UTF-8 without control characters.
    ///   - authentication: Two factors.
    /// - Throws: ``MobileTokenError/Code/invalidName``; ``MobileTokenError/Code/notSupported`` in version 3.
    public func rename(to name: String, with authentication: Authentication) async throws {
        try NameRule.check(name, of: "an activation")
        try await self.send(with: authentication) { keys in
            let endpoint = try keys.dialect.endpoint(of: .rename(name))
            return SignedRequest(path: endpoint.path, uriID: endpoint.uriID, keys: keys) {
                try await keys.dialect.encryption.encrypt(endpoint.body, for: .generic)
            }
        } receive: { response in
            let path = try self.dialect.endpoint(of: .rename(name)).path
            let renamed = try self.detail(in: response, of: path)
            try await self.updateRecord { $0.name = renamed.activationName }
        }
    }

    /// Returns the name that the server shows for the activation. In version 4 of the protocol only.
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` in version 3.
    public func nameAtServer() async throws -> String? {
        try self.adopt(try await self.storedRecord())
        let endpoint = try self.dialect.endpoint(of: .detail)
        let response = try await self.postWithToken("possession_universal", path: endpoint.path, headers: [:]) {
            try await self.dialect.encryption.encrypt(endpoint.body, for: .generic)
        }
        return try self.detail(in: response, of: endpoint.path).activationName
    }

    private nonisolated func detail(in response: ChannelResponse, of path: String) throws -> Detail {
        let detail = try Wire.decode(Wire.Response<Detail>.self, from: response, of: path).responseObject
        guard detail.activationId.isExactly(self.activationID) else {
            throw MobileTokenError.invalidResponse("The response to \(path) is not about this activation")
        }
        return detail
    }

    private struct Detail: Decodable {
        let activationId: String
        let activationName: String?
    }
}
