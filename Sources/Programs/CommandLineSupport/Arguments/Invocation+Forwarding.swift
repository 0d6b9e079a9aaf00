import Foundation
import HTTPClientTransport

extension Invocation {
    /// Returns an option's value as a target address: `https`, or `http` to this machine, and to others with `--insecure-http`.
    package func forwardingURL(_ option: String) throws -> String? {
        guard let url = self[option] else { return nil }
        guard let components = URLComponents(string: url), let host = components.host,
            ["http", "https"].contains(components.scheme)
        else { throw self.misuse("--\(option) takes an http or https URL") }
        // Messages show the URL.
        guard components.user == nil, components.password == nil else {
            throw self.misuse("a user or password does not belong into a URL")
        }
        guard components.scheme == "https" || BaseURLRule.isLoopback(host) || self.has("insecure-http") else {
            throw self.misuse("plain http to another machine needs --insecure-http")
        }
        return url
    }
}
