import Basics
import Coordination
package import HTTPClientTransport

/// A client of PowerAuth Cloud, for back ends that request approvals and register devices.
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
/// One client serves a whole process. It opens and sends nothing until a method needs it. Redirects are not followed. Read-only
/// calls are retried after failures, by ``Configuration/readAttempts``. Others are sent once; ``CloudError/isOutcomeUnknown``
/// tells whether the server may have carried one out after a failure.
///
/// Methods throw ``CloudError``, or `CancellationError`, after which a change may have been carried out too.
public final class CloudClient: Sendable {
    /// The settings of the client, besides the server and the credentials.
    public let configuration: Configuration

    /// The address above `/v2/…`, without a trailing slash.
    let baseURL: String
    /// `nil` for a server in this process, which needs none.
    let authorization: Masked<String>?
    let transport: any HTTPTransport
    package let timeout: Duration
    let clock: ServiceClock

    /// The transport that the client created and shuts down.
    private let ownTransport: CurlTransport?

    /// Creates a client.
    ///
    /// - Parameters:
    ///   - baseURL: The address above `/v2/…`, such as `https://cloud.example.com/powerauth-cloud`: an absolute `https` URL
    ///     without user, query or fragment, or `http` to this machine.
    ///   - credentials: The user that PowerAuth Cloud's administrator created for this back end.
    ///   - configuration: All other settings.
    /// - Throws: ``CloudError/Code/invalidConfiguration``, with a message that names the problem. Pins, authorities and client
    ///   certificates are invalid with an `http` URL.
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
        self.authorization = Masked(try credentials.authorization())
        self.timeout = configuration.timeout ?? self.transport.timeout
        self.clock = ServiceClock(configuration.clock)
        self.configuration = configuration
    }

    /// Creates a client for a server in this process, without retries.
    ///
    /// - Parameter transport: Passes requests to the server, whatever their host.
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

    private init(sendingOnce client: CloudClient) {
        var configuration = client.configuration
        configuration.readAttempts = 1
        (self.transport, self.ownTransport) = (client.transport, nil)
        (self.baseURL, self.authorization) = (client.baseURL, client.authorization)
        (self.timeout, self.clock) = (client.timeout, client.clock)
        self.configuration = configuration
    }

    /// Returns a client without retries over the same connections, which this client owns.
    package func sendingOnce() -> CloudClient { CloudClient(sendingOnce: self) }

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

    /// The maximum size of a response body in bytes.
    static let largestAnswer = 1 << 20

    /// Fails every call, and closes the connections. A transport from the configuration stays open.
    public func shutdown() async { await self.ownTransport?.shutdown() }
}
