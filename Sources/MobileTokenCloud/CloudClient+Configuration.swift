import Basics
public import HTTPClientTransport

extension CloudClient {
    /// The settings of a client, besides the server and the credentials.
    public struct Configuration: Sendable {
        /// The transport of the requests: by default the client's own `CurlTransport`, which ``CloudClient/shutdown()`` ends. Pins,
        /// authorities, client certificates and proxies are settings of a transport. One that is given here stays its owner's to end.
        public var transport: (any HTTPTransport)?
        /// The longest a request may take: by default 20 s, which is the transport's.
        public var timeout: Duration?
        /// Indicates whether plain `http` may lead to another machine: `false` by default. Any party on the way can then read and
        /// change everything, and make approvals of its own. `http` to this machine (`localhost`, `127.0.0.0/8`, `[::1]`) needs no
        /// permission.
        public var allowsInsecureHTTP = false
        /// The number of times that a call which only reads is sent at most: 3 by default, 1 for a caller that repeats calls itself.
        ///
        /// It is sent again after 408, 429, 5xx and a connection that failed or was lost: after 250 ms, then 1 s and four times as long
        /// from one time to the next, and not before the server's `Retry-After`. A wait that would be longer than ``timeout`` is the
        /// caller's: ``CloudError/retryAfter`` tells it.
        public var readAttempts = 3
        /// The clock of the waits between attempts: the system's by default. Must never step back.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// - Throws: ``CloudError/Code/invalidConfiguration`` for settings with which nothing could be sent.
        func check() throws(CloudError) {
            guard (1...10).contains(self.readAttempts) else {
                throw CloudError(.invalidConfiguration, "readAttempts: not 1 to 10")
            }
            if let timeout, timeout <= .zero || timeout > .longest {
                throw CloudError(.invalidConfiguration, "timeout: not positive, or longer than a century")
            }
        }
    }
}
