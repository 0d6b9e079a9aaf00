import HTTPClientTransport
package import PowerAuthProtocol

package struct EndpointRequest: Sendable {
    package let endpoint: ServerEndpoint
    let body: [UInt8]

    package init(_ endpoint: ServerEndpoint, body: [UInt8]) {
        self.endpoint = endpoint
        self.body = body
    }

    package init(_ endpoint: ServerEndpoint, _ content: some Encodable) throws(MobileTokenError) {
        self.init(endpoint, body: try endpoint.encode(content))
    }

    /// Creates a request without content; only version 4 wraps it.
    package init(_ endpoint: ServerEndpoint, in version: ProtocolVersion) {
        let isWrapped = endpoint.wrapping.request && !version.isVersion3
        self.init(endpoint, body: Array((isWrapped ? #"{"requestObject":{}}"# : "{}").utf8))
    }

    /// Makes the body to send. An encrypted body may be used once.
    ///
    /// - Parameter encryption: Replaces the dialect's encryption.
    func sealed(
        in dialect: any ActivationDialect,
        by encryption: (any RequestEncryption)? = nil
    ) async throws -> EncodedBody {
        guard let sealing = self.endpoint.encryption else { return EncodedBody(bytes: self.body) }
        let encryption = encryption ?? dialect.encryption(in: sealing.scope)
        var sealed = try await encryption.encrypt(self.body, for: sealing.sharedInfo)
        if self.endpoint.order == .signThenEncrypt { sealed.signedPlaintext = self.body }
        return sealed
    }
}

extension SignedRequest {
    /// Creates a signed request for an endpoint.
    ///
    /// - Parameters:
    ///   - version: The version of path and encryption, if not that of the code.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for factors that no server accepts for the call, and
    ///   ``MobileTokenError/Code/notSupported`` if the version lacks it.
    init(
        _ request: EndpointRequest,
        keys: SigningKeys,
        headers: HTTPHeaders = [:],
        decision: DecisionTicket? = nil,
        isConfirming: Bool = false,
        in version: (ProtocolVersion, any RequestEncryption)? = nil
    ) throws(MobileTokenError) {
        let path = try request.endpoint.path(in: version?.0 ?? keys.dialect.version)
        guard case .code(let uriID, let factors) = request.endpoint.proof else {
            throw MobileTokenError(.invalidRequest, "No code goes with \(path)")
        }
        guard factors.allows(keys.type) else {
            throw MobileTokenError(.invalidAuthentication, "The server does not take these factors for \(path)")
        }
        self.init(
            path: path,
            uriID: uriID,
            keys: keys,
            headers: headers,
            decision: decision,
            sendsEncryptionHeader: version != nil
        ) {
            try await request.sealed(in: keys.dialect, by: version?.1)
        }
        self.isConfirming = isConfirming
    }
}
