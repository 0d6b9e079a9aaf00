public import ExactJSON
import Foundation
import HTTPClientTransport

extension Activation {
    /// Posts a JSON body to a path below the base URL, for requests that the application builds by itself.
    ///
    /// - Returns: A response below 400, undecoded. A refused token is renewed once.
    /// - Throws: ``MobileTokenError`` for every other response.
    public nonisolated func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String
    ) async throws -> ChannelResponse {
        let headers: HTTPHeaders = ["Accept-Language": acceptLanguage]
        switch authentication {
        case .token(let name):
            return try await self.postWithToken(name, path: path, headers: headers) { RequestBody(bytes: body) }
        case .signature(let uriID, let authentication):
            return try await self.send(with: authentication) { keys in
                SignedRequest(
                    path: path,
                    uriID: uriID,
                    keys: keys,
                    headers: headers,
                    decision: authentication.decision,
                    body: { RequestBody(bytes: body) }
                )
            } receive: {
                $0
            }
        }
    }
}

extension Activation {
    /// Returns what the server says about the activation's user, such as claims from an identity provider.
    public func userInfo() async throws -> JSONValue {
        try self.checkNotRemoved()
        try await self.waitForUpgrade()
        try self.adopt(try await self.storedRecord())
        let endpoint = try self.dialect.endpoint(of: .userInfo)
        let response = try await self.dialect.encryption.send(endpoint.path, headers: [:], endpoint.body)
        return try response.read { bytes in
            try MobileTokenError.mapErrors(ofResponse: endpoint.path) { try JSONValue(parsing: bytes) }
        }
    }

    /// Confirms a recovery code that was handed out on paper, so that it can be used.
    ///
    /// - Returns: Whether it was confirmed already.
    @discardableResult
    public func confirmRecoveryCode(_ code: String, with authentication: Authentication) async throws -> Bool {
        try await self.withStoredDialect {
            try await $0.confirmRecoveryCode(code, of: self, with: authentication)
        }
    }
}
