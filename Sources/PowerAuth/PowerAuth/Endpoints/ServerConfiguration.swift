public import ExactJSON
public import PowerAuthClient

extension MobileTokenClient {
    /// A value that the server's administrator keeps for clients. Sent only in encrypted responses.
    public struct ServerConfigurationEntry: Sendable, Equatable {
        /// The name of the value.
        public let key: String
        /// The value: any JSON.
        public let value: JSONValue
        /// The clients that may read the value.
        public let scope: Scope

        /// The clients that may read a value. A struct, so that a new scope breaks no `switch`.
        public struct Scope: RawRepresentable, Sendable, Hashable {
            /// The server's name of the scope.
            public let rawValue: String

            /// Creates a scope from the server's name.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Every client of the application.
            public static let application = Self(rawValue: "APPLICATION")
            /// Only clients with an active activation.
            public static let activation = Self(rawValue: "ACTIVATION")
        }
    }
}

extension MobileTokenClient {
    /// Returns the server's configuration for all clients of the application. Protocol version 4 only.
    ///
    /// ```swift
    /// let limit = try await client.serverConfiguration().first { $0.key == "limit" }?.value
    /// ```
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` in version 3.
    public func serverConfiguration() async throws -> [MobileTokenClient.ServerConfigurationEntry] {
        let version = self.configuration.version
        let request = EndpointRequest(.applicationConfiguration, in: version)
        let path = try request.endpoint.path(in: version)
        return try MobileTokenClient.ServerConfigurationEntry.entries(in: try await self.send(request), of: path)
    }
}

extension Activation {
    /// Returns the server's configuration for clients with an activation. Protocol version 4 only.
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` in version 3.
    public func serverConfiguration() async throws -> [MobileTokenClient.ServerConfigurationEntry] {
        let (response, path) = try await self.ask(.activationConfiguration)
        return try MobileTokenClient.ServerConfigurationEntry.entries(in: response, of: path)
    }
}

extension MobileTokenClient.ServerConfigurationEntry {
    fileprivate static func entries(in response: ServerResponse, of path: String) throws -> [Self] {
        try Wire.decode(Response.self, from: response, of: path).config.map {
            Self(key: $0.key, value: $0.value ?? .null, scope: Scope(rawValue: $0.scope))
        }
    }

    private struct Response: Decodable {
        let config: [Entry]

        struct Entry: Decodable {
            let key: String
            let value: JSONValue?
            let scope: String
        }
    }
}
