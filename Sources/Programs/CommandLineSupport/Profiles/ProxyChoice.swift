import Basics
package import HTTPClientTransport

/// The proxy of a profile's requests, as in `--proxy`.
package struct ProxyChoice: Codable, Sendable {
    package let description: String

    package static let help =
        "the proxy: URL, none (default), or environment for that of https_proxy; the profile keeps it"

    /// Parses a string; the transport validates the address.
    ///
    /// - Throws: `UsageError` for an address with a user or a password, because other users of the machine can see options, and a
    ///   profile would store it.
    package init(_ string: String, command: Command? = nil) throws {
        guard !string.utf8.contains(UInt8(ascii: "@")) else {
            throw UsageError(
                message:
                    "--proxy: a user or password does not belong here; set https_proxy, and use --proxy environment",
                command: command
            )
        }
        self.description = string
    }

    package init(from decoder: any Decoder) throws {
        try self.init(decoder.singleValueContainer().decode(String.self))
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(self.description)
    }

    package var setting: CurlTransport.Proxy {
        if self.description.isExactly("none") { return .none }
        if self.description.isExactly("environment") { return .environment }
        return .url(self.description)
    }

    /// - Throws: `UsageError` if an address is plain `http`, even on this machine: the proxy is a third party.
    package func requireTLS(_ urls: String...) throws {
        guard self.setting != .none, urls.contains(where: { !$0.lowercased().utf8.starts(with: "https:".utf8) }) else {
            return
        }
        throw UsageError(message: "--proxy: it reads everything that goes over http; use https, or --insecure-http")
    }
}
