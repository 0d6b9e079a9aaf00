internal import HTTPClientTransport
internal import PowerAuthProtocol

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
            let request = SignedRequest(
                path: path,
                uriID: uriID,
                keys: try await self.signingKeys(for: authentication),
                headers: headers,
                body: { RequestBody(bytes: body) }
            )
            return try await self.send(request) { $0 }
        }
    }
}
