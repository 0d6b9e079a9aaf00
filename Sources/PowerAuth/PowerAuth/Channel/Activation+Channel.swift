public import DecisionReceipts
import HTTPClientTransport
public import PowerAuthClient
import PowerAuthProtocol

extension Activation: AuthenticatedChannel {
    /// Posts a JSON body to a path below the base URL, for requests that the application builds itself.
    ///
    /// - Parameters:
    ///   - path: The path below the base URL.
    ///   - body: The JSON.
    ///   - authentication: A token, or a signature over the body.
    ///   - acceptLanguage: The value of `Accept-Language`.
    ///   - decision: The decision that the request makes; `nil` for a request of the application's own.
    /// - Returns: An undecoded response with a status below 400. A refused token is renewed once.
    /// - Throws: ``MobileTokenError`` for every other response.
    public nonisolated func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse {
        let proof: ServerEndpoint.Proof
        let factors: Authentication
        switch authentication {
        case .token(let name): (proof, factors) = (.token(name: name, .possession), .possession)
        case .signature(let uriID, let authentication): (proof, factors) = (.code(uriID: uriID, .any), authentication)
        }
        let endpoint = ServerEndpoint(path, proof, in: nil, wrapsRequest: false, wrapsResponse: false)
        return ChannelResponse(
            try await self.send(
                EndpointRequest(endpoint, body: body),
                headers: ["Accept-Language": acceptLanguage],
                with: factors,
                deciding: decision
            )
        )
    }

    /// Makes an offline signature: groups of digits joined by `-`, for a person to type. Moves the counter; nothing is sent.
    ///
    /// - Parameters:
    ///   - data: The data to sign, such as `operationId&operationData`.
    ///   - nonce: 16 bytes, from the QR code.
    ///   - uriID: The resource identifier that the server expects to be signed.
    ///   - componentLength: The number of digits in each group, 4 to 8. Default:
    ///     ``MobileTokenClient/Configuration/offlineCodeDigits``.
    ///   - authentication: Two factors or more.
    /// - Throws: ``MobileTokenError/Code/invalidAuthentication`` for possession alone, which a copy of the store provides.
    public nonisolated func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int? = nil,
        with authentication: Authentication
    ) async throws -> String {
        try await self.signOffline(
            data,
            nonce: nonce,
            uriID: uriID,
            componentLength: componentLength,
            with: authentication
        )
    }

    /// Returns whether the server signed `data`: with P-256 and SHA-256, in protocol version 4 with P-384 and SHA-384.
    public nonisolated func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey = .activation,
        format: Activation.ServerSignatureFormat = .der
    ) -> Bool {
        let key: ServerSignature.Key =
            switch key {
            case .master: .master
            case .activation: .activation
            case .shared: .shared
            }
        return self.isValid(ServerSignature(signature, key: key, format: format == .der ? .der : .jose), of: data)
    }
}

extension Activation {
    /// The key that verifies a server's signature.
    public enum ServerSigningKey: Sendable, Hashable {
        /// The master key, shared by all activations of the application.
        case master
        /// The server's key for this activation.
        case activation
        /// The shared key of protocol version 4, for a MAC of 32 bytes instead of a signature.
        case shared
    }

    /// The encoding of an ECDSA signature.
    public enum ServerSignatureFormat: Sendable, Hashable {
        /// ASN.1 DER, as in QR codes.
        case der
        /// `r` and `s` side by side, 64 bytes, as in JSON web tokens.
        case jose
    }
}
