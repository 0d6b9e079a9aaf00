/// A group of related routes.
struct RouteArea: Sendable {
    let name: String
    let summary: String
    /// The common prefix of the paths.
    private let prefix: String

    /// All areas, more specific prefixes first.
    static let all = [
        Self(name: "Cloud API", summary: "For a bank's backend: registrations, operations, messages.", prefix: "/v2/"),
        Self(
            name: "Administration",
            summary: "For a bank's backend and for suites: applications, and users of the cloud API.",
            prefix: "/admin/"
        ),
        Self(name: "Mobile Token API", summary: "For devices: operations, push registration, inbox.", prefix: "/api/"),
        Self(name: "OpenID provider", summary: "For browsers: leading back with a code.", prefix: "/oidc/"),
        Self(name: "PowerAuth 3", summary: "The standard endpoints of version 3.", prefix: "/pa/v3/"),
        Self(name: "PowerAuth 4", summary: "The standard endpoints of version 4.", prefix: "/pa/v4/"),
        Self(
            name: "Cloud API, relayed",
            summary: "The cloud API as the console uses it, without its credentials.",
            prefix: "/_emulator/cloud/"
        ),
        Self(
            name: "Control API",
            summary: "Time, faults, journal, state: what no real server has.",
            prefix: "/_emulator/"
        ),
        Self(name: "Server", summary: "The server's description of itself.", prefix: "/"),
    ]

    static func of(_ path: String) -> Self? { Self.all.first { path.utf8.starts(with: $0.prefix.utf8) } }

    func contains(_ path: String) -> Bool { Self.of(path)?.name == self.name }
}
