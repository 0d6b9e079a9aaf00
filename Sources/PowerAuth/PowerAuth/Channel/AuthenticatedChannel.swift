public import DecisionReceipts
public import Foundation
import MobileTokenObserving
public import PowerAuthClient

/// The part of an activation that services need: authenticated requests and the server's time.
///
/// ``Activation`` conforms. A test double needs only an identifier and the responses. `MobileToken` can build the response to an
/// operation list request.
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
    /// The identifier of the activation.
    var activationID: String { get }
    /// The estimated server time: the local clock, corrected by the server's responses. Default: the local clock.
    /// ``measuredServerDate`` tells whether it was measured.
    var serverDate: Date { get }
    /// The measured server time; `nil` before the first response. Default: ``serverDate``.
    var measuredServerDate: Date? { get }
    /// Converts a local time to the server's time with the current clock difference. Default: the difference between
    /// ``serverDate`` and the system clock.
    func serverDate(ofLocalDate date: Date) -> Date
    /// Fetches the server's time, unless it is known or unavailable. Does nothing by default.
    ///
    /// - Throws: Only `CancellationError`.
    func synchronizeTime() async throws
    /// The observer of the SDK's events. Default: none.
    var observer: (any MobileTokenObserver)? { get }
    /// The evidence of the activation's decisions. Agents and the tracing of lost responses require it. A wrapper forwards it.
    /// Default: none.
    var evidence: DecisionEvidence? { get }

    /// Posts a JSON body.
    ///
    /// - Parameters:
    ///   - path: The path below the base URL, such as `/api/auth/token/app/operation/list`.
    ///   - body: The JSON.
    ///   - authentication: The authentication of the request.
    ///   - acceptLanguage: The value of `Accept-Language`.
    ///   - decision: The decision that the request makes, for its receipt; `nil` if none. A wrapper passes it on and returns the
    ///     response or the error unchanged, because they identify the deciding signature.
    /// - Returns: An undecoded response with a status below 400.
    /// - Throws: ``MobileTokenError`` for every other response, with the server's code and `Retry-After` if present.
    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String,
        decision: DecisionIntent?
    ) async throws -> ChannelResponse

    /// Creates an offline signature: groups of digits joined by `-`, for a person to type. Moves the counter.
    ///
    /// Throws ``MobileTokenError/Code/invalidAuthentication`` by default.
    ///
    /// - Parameters:
    ///   - data: The data to sign.
    ///   - nonce: 16 bytes, from the QR code.
    ///   - uriID: The resource identifier that the server expects to be signed.
    ///   - componentLength: The number of digits in each group, 4 to 8; `nil` for the configured number.
    ///   - authentication: Two factors or more.
    func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int?,
        with authentication: Activation.Authentication
    ) async throws -> String

    /// Adopts changes that other processes made to the activation, before a check without the server. Does nothing by default.
    func refresh() async throws

    /// Returns whether the server signed `data`. Default: `false`.
    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: Activation.ServerSigningKey,
        format: Activation.ServerSignatureFormat
    ) -> Bool
}

extension AuthenticatedChannel {
    /// The local time.
    public var serverDate: Date { Date() }
    /// Returns ``serverDate``.
    public var measuredServerDate: Date? { self.serverDate }
    /// Shifts `date` by the difference between ``serverDate`` and the system clock.
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
        with authentication: Activation.Authentication
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

/// The authentication of a request.
public enum RequestAuthentication: Sendable {
    /// With a named token, created on demand.
    case token(name: String)
    /// With a signature over the body and the resource identifier. Consumes a counter value.
    case signature(uriID: String, Activation.Authentication)
}

extension RequestAuthentication {
    /// The token of the operations and inbox services.
    package static let universalToken = Self.token(name: universalTokenName)
    package static let universalTokenName = "possession_universal"
}
