import Foundation
import HTTPClientTransport

extension Invocation {
    /// Returns an option's value as a target address: `https`, or `http` to this machine, and to others with `--insecure-http`.
    package func forwardingURL(_ option: String) throws -> String? {
        guard let url = self[option] else { return nil }
        guard let components = URLComponents(string: url), let host = components.host,
            ["http", "https"].contains(components.scheme)
        else { throw UsageError(message: "--\(option) takes an http or https URL", command: self.command) }
        // Messages show the URL.
        guard components.user == nil, components.password == nil else {
            throw UsageError(message: "a user or password does not belong into a URL", command: self.command)
        }
        guard components.scheme == "https" || BaseURLRule.isLoopback(host) || self.has("insecure-http") else {
            throw UsageError(message: "plain http to another machine needs --insecure-http", command: self.command)
        }
        return url
    }
}
