import Coordination
import Foundation
import HTTPClientTransport

/// The client of PowerAuth Cloud, by which a back end asks for approvals and registers devices.
///
/// ```swift
/// let cloud = try CloudClient(
///     baseURL: "https://cloud.example.com/powerauth-cloud",
///     credentials: .init(user: "billing", password: password)
/// )
/// let question = CloudClient.NewOperation(
///     template: "payment",
///     userID: "alice",
///     parameters: ["amount": "63.99", "currency": "EUR"]
/// )
/// let operation = try await cloud.createOperation(question)
/// ```
///
/// One client serves a whole process. Nothing is opened or sent before a method needs it. Redirects are not followed. A call that
/// only reads is repeated when the server or the connection fails, by ``Configuration/readAttempts``; any other one is sent once, and
/// ``CloudError/isOutcomeUnknown`` tells whether the server may have carried it out nevertheless.
///
/// Methods throw ``CloudError``, or `CancellationError` when the task is canceled: a call that changes something may then have been
/// carried out.
public final class CloudClient: Sendable {
    /// The settings of the client, besides the server and the credentials.
    public let configuration: Configuration

    /// The address below which `/v2/…` is found, without a slash at its end.
    let baseURL: String
    /// `nil` for a server in this process, which knows who asks.
    let authorization: String?
    let transport: any HTTPTransport
    package let timeout: Duration
    let clock: ServiceClock

    /// The transport that the client made for itself, and ends with itself.
    private let ownTransport: CurlTransport?

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - baseURL: The address below which `/v2/…` is found, `https://cloud.example.com/powerauth-cloud`: an absolute `https` URL
    ///     without user, query or fragment, or `http` to this machine.
    ///   - credentials: The user that the administrator of PowerAuth Cloud has made for this back end.
    ///   - configuration: Everything else.
    /// - Throws: ``CloudError/Code/invalidConfiguration``, whose message names what is wrong: also when the transport has a pin, an
    ///   authority or a client certificate, and the URL is `http`, where they mean nothing.
    public init(
        baseURL: String,
        credentials: Credentials,
        configuration: Configuration = Configuration()
    ) throws(CloudError) {
        try configuration.check()
        (self.transport, self.ownTransport) = try Self.transport(configuration.transport)
        let rule = BaseURLRule(
            allowsInsecureHTTP: configuration.allowsInsecureHTTP,
            requiresTLS: self.transport.requiresTLS
        )
        do { self.baseURL = try rule.validated(baseURL, "baseURL") } catch {
            throw CloudError(.invalidConfiguration, error.message)
        }
        self.authorization = try credentials.authorization()
        self.timeout = configuration.timeout ?? self.transport.timeout
        self.clock = ServiceClock(configuration.clock)
        self.configuration = configuration
    }

    /// Creates a client of a server in this process, which repeats nothing.
    ///
    /// - Parameter transport: Brings requests to the server, whatever the host of their address is.
    package init(inProcess transport: any HTTPTransport) {
        var configuration = Configuration()
        configuration.transport = transport
        configuration.readAttempts = 1
        (self.transport, self.ownTransport) = (transport, nil)
        (self.baseURL, self.authorization) = ("http://localhost", nil)
        self.timeout = transport.timeout
        self.clock = ServiceClock(configuration.clock)
        self.configuration = configuration
    }

    private static func transport(
        _ given: (any HTTPTransport)?
    ) throws(CloudError) -> (any HTTPTransport, own: CurlTransport?) {
        if let given { return (given, nil) }
        var configuration = CurlTransport.Configuration()
        configuration.maximumResponseSize = Self.largestAnswer
        do {
            let own = try CurlTransport(configuration: configuration)
            return (own, own)
        } catch {
            throw CloudError(.invalidConfiguration, "transport: \(error)", underlying: error)
        }
    }

    /// The size of the largest body that is read, in bytes.
    static let largestAnswer = 1 << 20

    /// Ends every call with an error, and closes the connections. A transport from the configuration is left to its owner.
    public func shutdown() async { await self.ownTransport?.shutdown() }
}
