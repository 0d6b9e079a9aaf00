package import Foundation

/// What the services above need of an activation: authenticated requests, and the server's time.
///
/// ``Activation`` is the one implementation; tests of the services may script another.
package protocol AuthenticatedChannel: Sendable {
    /// The activation that speaks.
    var activationID: String { get }
    /// The server's time, as far as it is known: the local clock corrected by the synchronised offset.
    var serverDate: Date { get }
    /// The server's time, when the server has told it; `nil` as long as only the local clock is known.
    var measuredServerDate: Date? { get }
    /// Asks for the server's time, unless it is known or cannot be had. Throws `CancellationError` alone.
    func synchronizeTime() async throws
    /// Begins to learn the server's time from the answer to the next request; `nil` where there is nothing to learn.
    func makeServerTimeProbe() -> ServerTimeProbe?
    /// Who watches what the SDK does, if anybody.
    var observer: (any MobileTokenObserver)? { get }

    /// Posts a JSON body to a path below the base URL, such as `/api/auth/token/app/operation/list`.
    ///
    /// Returns the body of an answer below 400, undecoded, with its status. Everything else is a ``MobileTokenError``, with the server's
    /// code and `Retry-After` when it sent them. A refused token is renewed once.
    func post(
        _ path: String,
        body: [UInt8],
        authentication: RequestAuthentication,
        acceptLanguage: String
    ) async throws -> ResponseBody

    /// Makes a signature that a person carries to the server: digits in groups joined by `-`. Moves the counter.
    func offlineSignature(
        data: [UInt8],
        nonce: [UInt8],
        uriID: String,
        componentLength: Int,
        with authentication: Authentication
    ) async throws -> String

    /// Whether data was signed by the server.
    func isSignedByServer(
        _ data: [UInt8],
        signature: [UInt8],
        key: ServerSigningKey,
        format: ServerSignatureFormat
    ) -> Bool
}

extension AuthenticatedChannel {
    package var observer: (any MobileTokenObserver)? { nil }
    package var measuredServerDate: Date? { self.serverDate }
    package func synchronizeTime() async throws {}
    package func makeServerTimeProbe() -> ServerTimeProbe? { nil }
}

/// How a request proves who sent it.
package enum RequestAuthentication: Sendable {
    /// `X-PowerAuth-Token` with the named token, which is created on demand.
    case token(name: String)
    /// `X-PowerAuth-Authorization`: takes a counter value and its turn at the activation's gate.
    case signature(uriID: String, Authentication)
}

extension RequestAuthentication {
    /// The token of the operations and inbox services.
    package static let universalToken = Self.token(name: "possession_universal")
}
