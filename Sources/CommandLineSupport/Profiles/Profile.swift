import Foundation
package import MobileToken
import PowerAuth

/// The settings by which later calls find the activation. Its secrets are in the store, sealed.
package struct Profile: Codable, Sendable {
    package var url: String
    /// The address below which `/pa/…` is found, when it is not `url`.
    package var powerAuthURL: String?
    package var sdkConfiguration: String
    /// The proxy, as `--proxy` names it; `nil` for none.
    package var proxy: ProxyChoice?
    /// The rules for the server's certificate, when they are not the system's.
    package var trust: Trust?
    package var activationID: String?
    /// The activations that the store had before the one that is being made; `nil` when none is. What else is found there was
    /// left by a program that was killed.
    package var activationsBefore: [String]?
    /// The place of the sealing key, as a `SealingKeySource` describes it; `nil` for the file beside the store.
    package var sealingKey: String?

    package struct Trust: Codable, Sendable {
        /// The absolute path of a file of certificate authorities.
        package var caFile: String?
        /// A public key, or several with `;` between them, such as that of now and the next one.
        package var pin: String?
        /// Allows plain `http` to another machine.
        package var allowsInsecureHTTP: Bool?

        package init() {}

        /// Returns the settings of requests to the server.
        package func transport(through proxy: ProxyChoice?) -> CurlTransport.Configuration {
            var configuration = CurlTransport.Configuration()
            if let proxy { configuration.proxy = proxy.setting }
            if let caFile { configuration.tls.validation = .certificateAuthority(file: caFile) }
            if let pin {
                // An empty part is no pin, and refused as such: nothing may be taken for "no pins".
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
    /// The settings of requests to the server: proxy and trust.
    package var transport: CurlTransport.Configuration { (self.trust ?? Trust()).transport(through: self.proxy) }

    /// Returns a client of the profile's server.
    ///
    /// - Parameters:
    ///   - transport: In place of the profile's own.
    ///   - change: Sets what the profile says nothing about.
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
