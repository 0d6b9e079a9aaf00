import PowerAuthClient
import PowerAuthProtocol

/// An endpoint of the application's own: its path, authentication, encryption, request and response.
///
/// ```swift
/// let transfer = PowerAuthEndpoint<Transfer, Receipt>("/api/transfer", .signed(uriID: "/transfer"), encryption: .activation)
/// let receipt = try await activation.call(transfer, Transfer(amount: 100), with: .possessionAndKnowledge(password: password))
/// ```
///
/// A signed and encrypted request is signed first: the server decrypts the envelope, then verifies the signature of its content.
public struct PowerAuthEndpoint<Request: Encodable & Sendable, Response: Decodable & Sendable>: Sendable {
    /// The path below the base URL.
    public let path: String
    /// The authentication of requests.
    public let authentication: EndpointAuthentication
    /// The encryption scope of request and response; `nil` leaves them to TLS.
    public let encryption: EncryptionScope?
    /// Indicates whether the request is wrapped in `requestObject`.
    ///
    /// Nearly all servers expect that of unencrypted requests. For encrypted ones many expect the bare object.
    public let wrapsRequest: Bool
    /// Indicates whether the response is wrapped in `responseObject`. It is independent of the request: the response to a bare
    /// encrypted request is often wrapped.
    public let wrapsResponse: Bool

    /// Describes an endpoint.
    ///
    /// - Parameters:
    ///   - path: The path below the base URL.
    ///   - authentication: The authentication of requests.
    ///   - encryption: The encryption scope; `nil` leaves both to TLS.
    ///   - wrapsRequest: Wraps the request in `requestObject`, except an ``PowerAuthEmptyBody``.
    ///   - wrapsResponse: Reads the response from `responseObject`.
    public init(
        _ path: String,
        _ authentication: EndpointAuthentication,
        encryption: EncryptionScope? = nil,
        wrapsRequest: Bool = true,
        wrapsResponse: Bool = true
    ) {
        self.path = path
        self.authentication = authentication
        self.encryption = encryption
        self.wrapsRequest = wrapsRequest
        self.wrapsResponse = wrapsResponse
    }

    /// Describes an endpoint with request and response either both wrapped or both bare.
    public init(
        _ path: String,
        _ authentication: EndpointAuthentication,
        encryption: EncryptionScope? = nil,
        isWrapped: Bool
    ) {
        self.init(path, authentication, encryption: encryption, wrapsRequest: isWrapped, wrapsResponse: isWrapped)
    }
}

/// The authentication of requests to a ``PowerAuthEndpoint``.
public struct EndpointAuthentication: Sendable, Hashable {
    let proof: ServerEndpoint.Proof

    /// No authentication.
    public static let none = Self(proof: .none)

    /// Authenticates with a named token, created on demand.
    ///
    /// A token with more factors than possession is created with the authentication of the call. Later calls may leave it out.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8 without control characters.
    ///   - factors: The minimum factors that the server requires of the token.
    public static func token(_ name: String, factors: TokenFactors = .possession) -> Self {
        Self(proof: .token(name: name, factors.type))
    }

    /// Authenticates with a signature over the body and this resource identifier.
    public static func signed(uriID: String) -> Self { Self(proof: .code(uriID: uriID, .any)) }
}

/// The factors that a token is created with and later proves.
public struct TokenFactors: Sendable, Hashable {
    let type: SignatureType

    /// Possession alone.
    public static let possession = Self(type: .possession)
    /// Possession and knowledge.
    public static let possessionAndKnowledge = Self(type: .possessionKnowledge)
    /// Possession and biometry.
    public static let possessionAndBiometry = Self(type: .possessionBiometry)
}

/// An empty request or response.
public struct PowerAuthEmptyBody: Codable, Sendable, Hashable {
    /// Creates the empty value.
    public init() {}
}
