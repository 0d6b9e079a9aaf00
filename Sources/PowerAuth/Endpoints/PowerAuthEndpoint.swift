public import PowerAuthProtocol

/// A request of the application's own: where it goes, how it is authenticated and encrypted, and what it carries.
///
/// ```swift
/// let transfer = PowerAuthEndpoint<Transfer, Receipt>("/api/transfer", .signed(uriID: "/transfer"), encryption: .activation)
/// let receipt = try await activation.call(transfer, Transfer(amount: 100), with: .possessionAndKnowledge(password: password))
/// ```
///
/// A request that is signed and encrypted is signed first: the server opens the envelope, and checks the signature of what it
/// finds in it.
public struct PowerAuthEndpoint<Request: Encodable & Sendable, Response: Decodable & Sendable>: Sendable {
    /// The path below the base URL.
    public let path: String
    /// The proof of the sender.
    public let authentication: EndpointAuthentication
    /// For whom request and response are encrypted; `nil` leaves them to TLS.
    public let encryption: EncryptionScope?
    /// Indicates whether the request stands in `requestObject`.
    ///
    /// Requests that are not encrypted do at nearly every server. Of encrypted ones many servers expect the bare object.
    public let wrapsRequest: Bool
    /// Indicates whether the response stands in `responseObject`. It does not depend on the request: an encrypted request is often bare
    /// while the response to it is wrapped.
    public let wrapsResponse: Bool

    /// Describes an endpoint.
    ///
    /// - Parameters:
    ///   - path: Follows the base URL.
    ///   - wrapsRequest: `true` puts the request into `requestObject`; an ``EmptyBody`` never is.
    ///   - wrapsResponse: `true` reads the response from `responseObject`.
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

    /// Describes an endpoint whose request and response are both wrapped, or neither.
    public init(
        _ path: String,
        _ authentication: EndpointAuthentication,
        encryption: EncryptionScope? = nil,
        isWrapped: Bool
    ) {
        self.init(path, authentication, encryption: encryption, wrapsRequest: isWrapped, wrapsResponse: isWrapped)
    }
}

/// The proof of who sent a request to a ``PowerAuthEndpoint``.
public struct EndpointAuthentication: Sendable, Hashable {
    let proof: ServerEndpoint.Proof

    /// Not at all.
    public static let none = Self(proof: .none)

    /// Authenticates with a token, which is made when there is none of this name.
    ///
    /// A token of more factors than possession is made with the authentication of the call, which may be left out once there is
    /// one.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8 without control characters.
    ///   - factors: Those that the server demands of the token at least.
    public static func token(_ name: String, factors: TokenFactors = .possession) -> Self {
        Self(proof: .token(name: name, factors.type))
    }

    /// Authenticates with a signature over the body and this identifier of the resource.
    public static func signed(uriID: String) -> Self { Self(proof: .code(uriID: uriID, .any)) }
}

/// The factors that a token is made with, and vouches for from then on.
public struct TokenFactors: Sendable, Hashable {
    let type: SignatureType

    /// Possession alone.
    public static let possession = Self(type: .possession)
    /// Possession and knowledge.
    public static let possessionAndKnowledge = Self(type: .possessionKnowledge)
    /// Possession and biometry.
    public static let possessionAndBiometry = Self(type: .possessionBiometry)
}

/// The request or response of an endpoint that carries nothing.
public struct EmptyBody: Codable, Sendable, Hashable {
    /// Creates the empty value.
    public init() {}
}
