public import PowerAuthProtocol

/// A request of the application's own: where it goes, how it is authenticated and encrypted, and what it carries.
///
/// ```swift
/// let transfer = PowerAuthEndpoint<Transfer, Receipt>("/api/transfer", .signed(uriID: "/transfer"), encryption: .activation)
/// let receipt = try await activation.call(transfer, Transfer(amount: 100), with: .possessionAndKnowledge(password: password))
/// ```
public struct PowerAuthEndpoint<Request: Encodable & Sendable, Response: Decodable & Sendable>: Sendable {
    /// The path below the base URL.
    public let path: String
    /// How the request proves who sent it.
    public let authentication: EndpointAuthentication
    /// For whom request and response are encrypted; `nil` leaves them to TLS.
    public let encryption: EncryptionScope?
    /// Whether request and response stand in `requestObject` and `responseObject`, as everywhere in this ecosystem.
    public let isWrapped: Bool

    /// Describes an endpoint.
    public init(
        _ path: String,
        _ authentication: EndpointAuthentication,
        encryption: EncryptionScope? = nil,
        isWrapped: Bool = true
    ) {
        self.path = path
        self.authentication = authentication
        self.encryption = encryption
        self.isWrapped = isWrapped
    }
}

/// How a request to an ``PowerAuthEndpoint`` proves who sent it.
public struct EndpointAuthentication: Sendable, Hashable {
    enum Kind: Hashable {
        case none
        case token(name: String)
        case signature(uriID: String)
    }

    let kind: Kind

    /// Not at all.
    public static let none = Self(kind: .none)
    /// Authenticates with a token, created with possession when there is none of this name.
    public static func token(_ name: String) -> Self { Self(kind: .token(name: name)) }
    /// Authenticates with a signature over the body and this identifier of the resource.
    public static func signed(uriID: String) -> Self { Self(kind: .signature(uriID: uriID)) }
}

/// The request or response of an endpoint that carries nothing.
public struct EmptyBody: Codable, Sendable, Hashable {
    /// Creates the empty value.
    public init() {}
}
