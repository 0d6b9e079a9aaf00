public import Foundation
public import HTTPClientTransport
public import PowerAuthProtocol

extension MobileTokenClient {
    /// The settings of a client, besides the server and the application.
    public struct Configuration: Sendable {
        /// The version of the protocol that new activations speak: 3.3 by default. An existing one goes on in the version it
        /// was made with.
        public var version = ProtocolVersion.v3_3
        /// The algorithms of new activations of version 4, and of upgrades to it: by default those with ML-KEM-768 and ML-DSA-65,
        /// which need OpenSSL 3.5.
        public var suite = AlgorithmSuite.p384MLLevel3
        /// The address below which `/pa/v3/…` is found, where it is not the base URL; none by default.
        public var powerAuthURL: String?
        /// The store of the activations: by default an SQLite database at ``ActivationStore/defaultPath``.
        public var store: ActivationStore?
        /// The transport of the requests: by default the client's own `CurlTransport`, which ``MobileTokenClient/shutdown()``
        /// ends. One that is given here stays its owner's to end.
        public var transport: (any HTTPTransport)?
        /// The longest a request may take: by default 20 s, which is the transport's.
        public var timeout: Duration?
        /// The longest time for which a proxy may keep a request that has left, before the server gets it; zero by default. A decision
        /// whose answer was lost is not made again before ``timeout`` and this have passed, in whatever process: its receipt names the
        /// moment.
        public var proxyTimeout: Duration = .zero
        /// Indicates whether plain `http` may lead to another machine: `false` by default. Any party on the way can then read
        /// everything, tokens included, and change most of it. `http` to this machine (`localhost`, `127.0.0.0/8`,
        /// `[::1]`) needs no permission.
        public var allowsInsecureHTTP = false
        /// In which language the server presents operations and messages: English by default.
        public var acceptLanguage = MobileTokenClient.AcceptLanguage.english
        /// The number of digits in each group of an offline code: 4 to 8, as the server is configured; 8 by default, as servers have it.
        public var offlineCodeDigits = 8
        /// The value of `User-Agent`, in printable ASCII: by default the SDK's name and version with the system's.
        public var userAgent: String?
        /// The observer of what the SDK does: none by default.
        public var observer: (any MobileTokenObserver)?
        /// Measures round trips and the age of keys, and paces the client's services: the system's by default. Must never step
        /// back.
        public var clock: any Clock<Duration> = ContinuousClock()
        /// The local date, which is corrected by what the server says: the system's by default.
        public var wallClock: @Sendable () -> Date = { Date() }

        /// Keys, nonces and challenges come from here.
        package var randomness = Randomness.system
        /// Keys are derived from passwords here.
        package var derivations = DerivationQueue.shared

        /// Creates a configuration with the documented defaults.
        public init() {}

        /// Returns the header's value.
        ///
        /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for what is no header.
        func validatedUserAgent() throws(MobileTokenError) -> String {
            guard let userAgent else { return Self.defaultUserAgent }
            guard !userAgent.isEmpty, userAgent.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw MobileTokenError(.invalidConfiguration, "userAgent: not printable ASCII")
            }
            return userAgent
        }

        /// - Throws: ``MobileTokenError/Code/invalidConfiguration`` for codes that no server takes.
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
