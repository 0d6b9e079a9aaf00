public import Foundation
public import HTTPClientTransport
public import MobileTokenObserving
public import PowerAuthProtocol

#if Logging
    public import Logging
#endif
#if Tracing
    public import Tracing
#endif

extension MobileTokenClient {
    /// The settings of a client, besides the server and the application.
    public struct Configuration: Sendable {
        /// The protocol version of new activations. Default: 3.3. Existing activations keep theirs.
        public var version = ProtocolVersion.v3_3
        /// The algorithms of new version 4 activations and of upgrades. Default: with ML-KEM-768 and ML-DSA-65, which need
        /// OpenSSL 3.5.
        public var suite = AlgorithmSuite.p384MLLevel3
        /// The address above `/pa/v3/…`, if it is not the base URL. Default: none.
        public var powerAuthURL: String?
        /// The activation store. Default: an SQLite database at ``ActivationStore/defaultPath``.
        public var store: ActivationStore?
        /// The transport. Default: a `CurlTransport` that ``MobileTokenClient/shutdown()`` ends. The caller shuts down a
        /// transport of its own.
        public var transport: (any HTTPTransport)?
        /// The request timeout. Default: the transport's, 20 s.
        public var timeout: Duration?
        /// The longest time a proxy may buffer a request before forwarding it. Default: zero. If the response to a decision is
        /// lost, no process decides again until ``timeout`` plus this time has elapsed; the receipt records that deadline.
        public var proxyTimeout: Duration = .zero
        /// The time after its start in which a request may still arrive. Default: `nil`, which means ``timeout`` plus
        /// ``proxyTimeout``.
        package var arrivalTimeout: Duration?
        /// Allows plain `http` to another machine. Default: `false`. Anyone on the network path can then read everything,
        /// including tokens, and change most of it. `http` to this machine (`localhost`, `127.0.0.0/8`, `[::1]`) is always
        /// allowed.
        public var allowsInsecureHTTP = false
        /// The language of operations and messages. Default: English.
        public var acceptLanguage = MobileTokenClient.AcceptLanguage.english
        /// The number of digits in each group of an offline code, 4 to 8, as configured at the server. Default: 8, as at servers.
        public var offlineCodeDigits = 8
        /// The value of `User-Agent`, in printable ASCII. Default: name and version of the SDK and the system.
        public var userAgent: String?
        /// The observer of the SDK's events. Default: none.
        public var observer: (any MobileTokenObserver)?
        #if Logging
            /// The logger of the SDK's events, beside the ``observer``; see ``LogObserver``. Default: none.
            public var logger: Logger?
        #endif
        #if Tracing
            /// The tracer of requests, decisions and polls. Default: that of `InstrumentationSystem`.
            public var tracer: any Tracer = InstrumentationSystem.tracer
            /// Sends the context of a request's span in its headers. Default: `false`, because the server may be somebody
            /// else's.
            public var sendsTraceContext = false
        #endif
        /// The monotonic clock for round trips, key ages and the services' intervals. Default: the system's.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The local time, before correction by the server's time. Default: the system's.
        public var wallClock: @Sendable () -> Date = { Date() }

        /// The source of keys, nonces and challenges.
        package var randomness = Randomness.system
        package var derivations = DerivationQueue.shared

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// The ``observer``, and the one that writes to the logger, if there is any.
        var everyObserver: (any MobileTokenObserver)? {
            #if Logging
                guard let logger = self.logger.map({ LogObserver(logger: $0) }) else { return self.observer }
                return self.observer?.and(logger) ?? logger
            #else
                self.observer
            #endif
        }

        /// Returns the value of `User-Agent`.
        ///
        /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for an invalid header value.
        func validatedUserAgent() throws(MobileTokenError) -> String {
            guard let userAgent else { return Self.defaultUserAgent }
            guard !userAgent.isEmpty, userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw MobileTokenError(.invalidConfiguration, "userAgent: not printable ASCII")
            }
            return userAgent
        }

        /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` unless the number is 4 to 8.
        func checkOfflineCodeDigits() throws(MobileTokenError) {
            guard DecimalCode.componentLengths.contains(self.offlineCodeDigits) else {
                throw MobileTokenError(.invalidConfiguration, "offlineCodeDigits: not 4 to 8")
            }
        }

        private static let defaultUserAgent: String = {
            let system = ProcessInfo.processInfo.operatingSystemVersion
            let version = "\(system.majorVersion).\(system.minorVersion).\(system.patchVersion)"
            return "swift-mobile-token/\(SDKVersion.text) (Linux \(version))"
        }()
    }
}
