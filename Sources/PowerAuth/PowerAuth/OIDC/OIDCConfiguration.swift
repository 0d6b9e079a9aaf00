import Basics
import Foundation
import HTTPClientTransport
import PowerAuthClient

/// The validated parameters for a provider, from the server.
struct OIDCConfiguration: Sendable {
    struct Response: Decodable, Sendable {
        let providerId: String
        let clientId: String
        let scopes: String
        let authorizeUri: String
        let redirectUri: String
        let pkceEnabled: Bool?
    }

    let providerID: String
    let clientID: String
    let scopes: String
    let authorizeURL: String
    let redirectURL: String
    /// Indicates whether PKCE binds the code to this process. Default: `true`.
    let usesPKCE: Bool

    /// Validates the server's response.
    ///
    /// - Throws: ``MobileTokenError/Code/invalidResponse``, with the name of the invalid member.
    init(
        _ response: Response,
        providerID: String,
        allowsInsecureHTTP: Bool
    ) throws(MobileTokenError) {
        guard response.providerId.isExactly(providerID) else {
            throw .invalidResponse("The configuration is that of another provider")
        }
        guard Self.isShown(response.clientId), Self.isShown(response.scopes) else {
            throw .invalidResponse("The provider's configuration lacks the client or its scopes")
        }
        guard Self.isPage(response.authorizeUri, allowsInsecureHTTP: allowsInsecureHTTP) else {
            throw .invalidResponse("The provider's authorize address is no https URL")
        }
        guard Self.isRedirect(response.redirectUri) else {
            throw .invalidResponse("The provider's redirect address is no URL, or has a fragment")
        }
        self.providerID = response.providerId
        self.clientID = response.clientId
        self.scopes = response.scopes
        self.authorizeURL = response.authorizeUri
        self.redirectURL = response.redirectUri
        self.usesPKCE = response.pkceEnabled ?? true
    }

    private static func isShown(_ text: String) -> Bool {
        !text.isEmpty && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    private static func isPage(_ address: String, allowsInsecureHTTP: Bool) -> Bool {
        guard let url = Self.components(address), let host = url.host, !host.isEmpty, url.user == nil,
            url.password == nil
        else { return false }
        switch url.scheme?.lowercased() {
        case "https": return true
        case "http": return allowsInsecureHTTP || BaseURLRule.isLoopback(host)
        default: return false
        }
    }

    /// Redirects to an app may have any scheme.
    private static func isRedirect(_ address: String) -> Bool { Self.components(address)?.scheme?.isEmpty == false }

    private static func components(_ address: String) -> URLComponents? {
        guard address.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") }) else { return nil }
        return URLComponents(string: address)
    }
}
