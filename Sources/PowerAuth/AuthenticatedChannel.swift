public import Foundation

/// The part of an activation that services need: authenticated requests, and the server's time.
///
/// ``Activation`` conforms. So may a type in a unit test, which then needs no server: only an identifier and the responses
/// are required. `MobileToken` makes the response to a request for the list of operations.
///
/// ```swift
/// struct ScriptedActivation: AuthenticatedChannel {
///     let activationID = "scripted"
///
///     func post(
///         _ path: String,
///         body: [UInt8],
///         authentication: RequestAuthentication,
///         acceptLanguage: String,
///         decision: DecisionIntent?
///     ) async throws -> ChannelResponse {
///         path.hasSuffix("/operation/list")
///             ? ChannelResponse(operations: [UserOperation(id: "1", name: "login", data: "A2")]) : .success
///     }
/// }
///
/// let operations = OperationsService(activation: ScriptedActivation())
/// ```
public protocol AuthenticatedChannel: Sendable {
    /// The identifier of the activation that the requests are made for.
    var activationID: String { get }
    /// The best idea of the server's time there is: the local clock, corrected by what the server says as soon as it has said
    /// something. By default the local clock. ``measuredServerDate`` tells whether the server is behind it.
    var serverDate: Date { get }
    /// The server's time, when the server has told it; `nil` as long as only the local clock is known. By default
    /// ``serverDate``.
    var measuredServerDate: Date? { get }
    /// Returns the server's time at a moment that was read from the local clock, by what is known now of the difference between
    /// the two. By default as ``serverDate`` is from the system's clock.
    func serverDate(ofLocalDate date: Date) -> Date
    /// Asks for the server's time, unless it is known or cannot be had. Does nothing by default.
    ///
    /// - Throws: `CancellationError` alone.
    func synchronizeTime() async throws
    /// The observer of what the SDK does, if there is one. None by default.
    var observer: (any MobileTokenObserver)? { get }
    /// The evidence of the activation's decisions, without which no agent decides and no lost answer is traced. None by default; a
    /// type that wraps an activation forwards the activation's.
    var evidence: DecisionEvidence? { get }

    /// Posts a JSON body.
    ///
    /// - Parameters:
    ///   - path: Follows the base URL, such as `/api/auth/token/app/operation/list`.
    ///   - body: The JSON.
    ///   - authentication: The way in which the request proves its sender.
    ///   - acceptLanguage: The value of `Accept-Language`.
    ///   - decision: The decision that the request makes, for its receipt; `nil` when it decides nothing. A type that wraps an
    ///     activation passes it on, and gives back the response and the error as they are: they tell which signature decided.
    /// - Returns: A response below 400, undecoded.
    /// - Throws: ``MobileTokenError`` for every other response, with the server's code and `Retry-After` when it sent them.
    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse

    /// Creates a signature that a person carries to the server: digits in groups joined by `-`. Moves the counter.
    ///
    /// Throws ``MobileTokenError/Code/invalidAuthentication`` by default.
    ///
    /// - Parameter componentLength: The number of digits in each group, 4 to 8; `nil` for the number that is configured.
    func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int?,
        with authentication: Authentication
    ) async throws -> String

    /// Takes in what another process may have done to the activation, before something is judged without the server. Does
    /// nothing by default.
    func refresh() async throws

    /// Returns whether `data` was signed by the server. `false` by default.
    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey,
        format: Activation.ServerSignatureFormat
    ) -> Bool
}

extension AuthenticatedChannel {
    /// The local date.
    public var serverDate: Date { Date() }
    /// The server's date.
    public var measuredServerDate: Date? { self.serverDate }
    /// As far from the server's date as `date` is from the local one.
    public func serverDate(ofLocalDate date: Date) -> Date { self.serverDate + date.timeIntervalSince(Date()) }
    /// Does nothing.
    public func synchronizeTime() async throws {}
    /// None.
    public var observer: (any MobileTokenObserver)? { nil }
    /// None.
    public var evidence: DecisionEvidence? { nil }

    /// Throws ``MobileTokenError/Code/invalidAuthentication``.
    public func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int?,
        with authentication: Authentication
    ) async throws -> String {
        throw MobileTokenError(.invalidAuthentication, "This activation does not support offline signatures")
    }

    /// Does nothing.
    public func refresh() async throws {}

    /// Returns `false`.
    public func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey,
        format: Activation.ServerSignatureFormat
    ) -> Bool { false }
}

/// The proof of who sent a request.
public enum RequestAuthentication: Sendable {
    /// With the token of this name, which is created on demand.
    case token(name: String)
    /// With a signature over the body and the identifier of the resource, which takes a value of the counter.
    case signature(uriID: String, Authentication)
}

extension RequestAuthentication {
    /// The token of the operations and inbox services.
    package static let universalToken = Self.token(name: "possession_universal")
}
