import Basics
import Foundation

package struct BaseURLRule {
    /// An objection to an address, without the setting's name.
    package struct Mistake: Error {
        package let message: String
    }

    /// Indicates whether plain `http` to other machines is allowed.
    let allowsInsecureHTTP: Bool
    /// Indicates whether the transport has authentication options that require TLS.
    let requiresTLS: Bool

    package init(allowsInsecureHTTP: Bool, requiresTLS: Bool) {
        self.allowsInsecureHTTP = allowsInsecureHTTP
        self.requiresTLS = requiresTLS
    }

    /// Returns the address without trailing slashes.
    ///
    /// - Parameter name: The caller's name for the address, such as `baseURL`, for the message.
    package func validated(_ baseURL: String, _ name: String) throws(Mistake) -> String {
        func mistake(_ what: String) -> Mistake { Mistake(message: "\(name): \(what)") }
        guard baseURL.utf8.allSatisfy({ (0x21...0x7E).contains($0) }), let url = URLComponents(string: baseURL) else {
            throw mistake("not a URL")
        }
        guard let scheme = url.scheme?.lowercased(), scheme == "https" || scheme == "http" else {
            throw mistake("the scheme must be https or http")
        }
        guard let host = url.host, !host.isEmpty else { throw mistake("no host") }
        guard url.user == nil, url.password == nil else { throw mistake("a user or password does not belong here") }
        guard url.query == nil, url.fragment == nil else { throw mistake("a query or fragment does not belong here") }
        if let port = url.port, !(1...65535).contains(port) { throw mistake("the port must be between 1 and 65535") }
        if scheme == "http" {
            guard !self.requiresTLS else {
                throw mistake("a pin, an authority or a client certificate means nothing over http; use https")
            }
            guard self.allowsInsecureHTTP || Self.isLoopback(host) else {
                throw mistake(
                    "http to another machine is open to any party on the way; use https, or allowsInsecureHTTP"
                )
            }
        }
        var text = baseURL
        while text.hasSuffix("/") { text.removeLast() }
        return text
    }

    /// Returns whether a host is certainly this machine: `localhost`, `127.0.0.0/8` or `::1`, in the usual notation only.
    package static func isLoopback(_ host: String) -> Bool {
        let name = host.lowercased()
        if ["localhost", "::1", "[::1]"].contains(where: { $0.utf8.elementsEqual(name.utf8) }) { return true }
        let parts = name.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        let numbers = parts.compactMap { Self.octet($0) }
        return parts.count == 4 && numbers.count == 4 && numbers.first == 127
    }

    /// Parses a number of a dotted address. A leading zero, which could mean octal, is refused.
    private static func octet(_ digits: Substring.UTF8View) -> UInt8? {
        guard !digits.isEmpty, digits.allSatisfy(\.isASCIIDigit),
            digits.count == 1 || digits.first != UInt8(ascii: "0")
        else { return nil }
        return UInt8(String(decoding: digits, as: UTF8.self))
    }
}
