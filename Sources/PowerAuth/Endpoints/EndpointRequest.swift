import HTTPClientTransport
import PowerAuthProtocol

/// A request to an endpoint, with its body in the clear.
struct EndpointRequest: Sendable {
    let endpoint: ServerEndpoint
    let body: [UInt8]

    init(_ endpoint: ServerEndpoint, body: [UInt8]) {
        self.endpoint = endpoint
        self.body = body
    }

    init(_ endpoint: ServerEndpoint, _ content: some Encodable) throws(MobileTokenError) {
        self.init(endpoint, body: try endpoint.encode(content))
    }

    /// Creates a request without content, which only version 4 wraps.
    init(_ endpoint: ServerEndpoint, in version: ProtocolVersion) {
        let isWrapped = endpoint.wrapping.request && !version.isVersion3
        self.init(endpoint, body: Array((isWrapped ? #"{"requestObject":{}}"# : "{}").utf8))
    }

    /// Makes the body as it is sent. An encrypted one may be used once.
    ///
    /// - Parameter encryption: The one to use in place of the dialect's.
    func sealed(
        in dialect: any ActivationDialect,
        by encryption: (any RequestEncryption)? = nil
    ) async throws -> RequestBody {
        guard let sealing = self.endpoint.encryption else { return RequestBody(bytes: self.body) }
        let encryption = encryption ?? dialect.encryption(in: sealing.scope)
        var sealed = try await encryption.encrypt(self.body, for: sealing.sharedInfo)
        if self.endpoint.order == .signThenEncrypt { sealed.signedPlaintext = self.body }
        return sealed
    }
}

extension SignedRequest {
    /// Creates the request that a row of the table describes.
    ///
    /// - Parameters:
    ///   - version: The version of the path and of the encryption, where that of the code is another one.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` when no server takes these factors for the call, and
    ///   ``MobileTokenError/Code/notSupported`` when the version lacks it.
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
