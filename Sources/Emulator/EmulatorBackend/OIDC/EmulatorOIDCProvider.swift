package import APIDescriptions
import Basics

/// A built-in OpenID provider, as far as a device sees it: it issues codes for any named user.
///
/// Its sign-in address is `/oidc/{id}/authorize`, which redirects back at once.
public struct EmulatorOIDCProvider: Sendable, Codable, Hashable, Identifiable {
    /// The identifier that clients request: ASCII letters, digits and `.-_`.
    public var id: String
    /// The identifier of the client.
    public var clientID = "mobile-token"
    /// The scopes that the client requests, separated by spaces, including `openid`.
    public var scopes = "openid"
    /// The redirect address: an absolute URL of any scheme, without a fragment.
    public var redirectURL = "mtoken://oidc"
    /// Indicates whether the client must use PKCE (RFC 7636).
    public var requiresPKCE = true
    /// The lifetime of a code in seconds: up to a year.
    public var codeLifetime: Double = 60
    /// Indicates whether it is enabled. A disabled provider appears not to exist.
    public var isEnabled = true

    /// Creates a provider with the defaults.
    public init(id: String = "emulator") { self.id = id }
}

extension EmulatorOIDCProvider {
    /// - Throws: The first invalid property.
    package func check() throws(Schema.Objection) {
        func require(_ isRight: Bool, _ property: String, _ hint: String) throws(Schema.Objection) {
            guard isRight else { throw Schema.Objection(member: property, hint: hint) }
        }
        try require(
            (1...64).contains(self.id.utf8.count)
                && self.id.utf8.allSatisfy { $0.isASCIILetterOrDigit || "-._".utf8.contains($0) }
                && self.id.utf8.contains { $0 != UInt8(ascii: ".") },
            "id",
            "must be 1 to 64 ASCII letters, digits and '.-_'"
        )
        try require(
            (1...255).contains(self.clientID.utf8.count) && self.clientID.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F },
            "clientID",
            "must be 1 to 255 printable ASCII characters"
        )
        try require(
            self.scopes.utf8.count <= 255 && self.scopes.utf8.allSatisfy { $0 >= 0x20 && $0 < 0x7F }
                && Self.names(in: self.scopes).contains("openid"),
            "scopes",
            "must be ASCII, and 'openid' among them"
        )
        try require(Self.isRedirect(self.redirectURL), "redirectURL", "must be absolute, without a fragment")
        try require(
            (0.001...31_536_000).contains(self.codeLifetime),
            "codeLifetime",
            "must be 0.001 to 31536000 seconds"
        )
    }

    private static func isRedirect(_ url: String) -> Bool {
        let bytes = Array(url.utf8)
        guard bytes.count <= 1024, let colon = bytes.firstIndex(of: UInt8(ascii: ":")), colon + 1 < bytes.count,
            bytes.first?.isASCIILetter == true
        else { return false }
        // Quotes and brackets are invalid in an address, and the address is sent in a header.
        return bytes[..<colon].allSatisfy { $0.isASCIILetterOrDigit || "+-.".utf8.contains($0) }
            && bytes.allSatisfy { (0x21...0x7E).contains($0) && !"#\"<>\\^`{|}';,".utf8.contains($0) }
    }

    /// Returns the names in a list of scopes.
    static func names(in scopes: String) -> Set<String> {
        Set(scopes.utf8.split(separator: UInt8(ascii: " ")).map { String(Substring($0)) })
    }
}
