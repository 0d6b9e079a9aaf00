package import HTTPClientTransport
package import MobileToken
import PowerAuthClient

/// The settings with which later calls find the activation. The store holds its secrets, sealed.
package struct Profile: Codable, Sendable {
    package var url: String
    /// The base address of `/pa/…`, if it is not `url`.
    package var powerAuthURL: String?
    package var sdkConfiguration: String
    /// The proxy, as in `--proxy`; `nil` for none.
    package var proxy: ProxyChoice?
    /// The trust rules for the server's certificate, if not the system's.
    package var trust: Trust?
    package var activationID: String?
    /// The activations in the store before a pending one; `nil` if none is pending. Others found there were left by a killed
    /// program.
    package var activationsBefore: [String]?
    /// The place of the sealing key, in the form of `SealingKeySource`; `nil` for the file beside the store.
    package var sealingKey: String?

    package struct Trust: Codable, Sendable {
        /// The absolute path of a file of certificate authorities.
        package var caFile: String?
        /// A public key, or several separated by `;`, such as the current and the next one.
        package var pin: String?
        /// Allows plain `http` to another machine.
        package var allowsInsecureHTTP: Bool?

        package init() {}

        package func transport(through proxy: ProxyChoice?) -> CurlTransport.Configuration {
            var configuration = CurlTransport.Configuration()
            if let proxy { configuration.proxy = proxy.setting }
            if let caFile { configuration.tls.validation = .certificateAuthority(file: caFile) }
            if let pin {
                // An empty part is an invalid pin, and refused: it must not mean "no pins".
                configuration.tls.pinnedPublicKeys = pin.split(separator: ";", omittingEmptySubsequences: false).map {
                    String($0)
                }
            }
            return configuration
        }
    }

    package init(url: String, sdkConfiguration: String) {
        self.url = url
        self.sdkConfiguration = sdkConfiguration
    }
}

extension Profile {
    /// The transport settings: proxy and trust.
    package var transport: CurlTransport.Configuration { (self.trust ?? Trust()).transport(through: self.proxy) }

    /// Returns a client of the profile's server.
    ///
    /// - Parameters:
    ///   - transport: Replaces the profile's own.
    ///   - change: Sets options that the profile lacks.
    package func client(
        of store: ActivationStore,
        transport: CurlTransport.Configuration? = nil,
        _ change: (inout MobileTokenClient.Configuration) throws -> Void = { _ in }
    ) throws -> MobileTokenClient {
        var configuration = MobileTokenClient.Configuration()
        do {
            configuration.transport = try CurlTransport(configuration: transport ?? self.transport)
        } catch {
            throw MobileTokenError.transport(error)
        }
        configuration.powerAuthURL = self.powerAuthURL
        configuration.allowsInsecureHTTP = self.trust?.allowsInsecureHTTP ?? false
        configuration.store = store
        try change(&configuration)
        return try MobileTokenClient(
            baseURL: self.url,
            sdkConfiguration: self.sdkConfiguration,
            configuration: configuration
        )
    }
}
