import Basics
public import HTTPClientTransport

extension CloudClient {
    /// The settings of a client, besides the server and the credentials.
    public struct Configuration: Sendable {
        /// The transport. Default: a `CurlTransport` that ``CloudClient/shutdown()`` ends. Configure pins, authorities, client
        /// certificates and proxies there. The caller shuts down a transport of its own.
        public var transport: (any HTTPTransport)?
        /// The request timeout. Default: the transport's, 20 s.
        public var timeout: Duration?
        /// Allows plain `http` to another machine. Default: `false`. Anyone on the network path can then read and change
        /// everything, and forge approvals. `http` to this machine (`localhost`, `127.0.0.0/8`, `[::1]`) is always allowed.
        public var allowsInsecureHTTP = false
        /// The maximum number of attempts for a read-only call. Default: 3. Use 1 if the caller retries.
        ///
        /// Calls are retried after 408, 429, 5xx and failed or lost connections: after 250 ms, then 1 s, four times longer each
        /// time, and not before the server's `Retry-After`. Waits above ``timeout`` are left to the caller; see
        /// ``CloudError/retryAfter``.
        public var readAttempts = 3
        /// The monotonic clock for the waits between attempts. Default: the system's.
        public var clock: any Clock<Duration> = ContinuousClock()

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// - Throws: ``CloudError/Code/invalidConfiguration`` for unusable settings.
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
