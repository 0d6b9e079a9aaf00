public import ExactJSON

extension MobileTokenClient {
    /// A value that the server's administrator keeps for clients, handed out in an encrypted response only.
    public struct ServerConfigurationEntry: Sendable, Equatable {
        /// The name of the value.
        public let key: String
        /// The value: any JSON.
        public let value: JSONValue
        /// The range of those who may have it.
        public let scope: Scope

        /// The range of those who may have a value. A struct, so that a new scope breaks no caller's `switch`.
        public struct Scope: RawRepresentable, Sendable, Hashable {
            /// The server's word.
            public let rawValue: String

            /// Creates a scope from the server's word.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Every client of the application.
            public static let application = Self(rawValue: "APPLICATION")
            /// Active activations alone.
            public static let activation = Self(rawValue: "ACTIVATION")
        }
    }
}

extension MobileTokenClient {
    /// Returns what the server's administrator keeps for all clients of the application. In version 4 of the protocol only.
    ///
    /// ```swift
    /// let limit = try await client.serverConfiguration().first { $0.key == "limit" }?.value
    /// ```
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` when the client is of version 3.
    public func serverConfiguration() async throws -> [MobileTokenClient.ServerConfigurationEntry] {
        let version = self.configuration.version
        let request = EndpointRequest(.applicationConfiguration, in: version)
        let path = try request.endpoint.path(in: version)
        return try MobileTokenClient.ServerConfigurationEntry.entries(in: try await self.send(request), of: path)
    }
}

extension Activation {
    /// Returns what the server's administrator keeps for clients with an activation. In version 4 of the protocol only.
    ///
    /// - Throws: ``MobileTokenError/Code/notSupported`` when the activation is of version 3.
    public func serverConfiguration() async throws -> [MobileTokenClient.ServerConfigurationEntry] {
        let (response, path) = try await self.ask(.activationConfiguration)
        return try MobileTokenClient.ServerConfigurationEntry.entries(in: response, of: path)
    }
}

extension MobileTokenClient.ServerConfigurationEntry {
    fileprivate static func entries(in response: ChannelResponse, of path: String) throws -> [Self] {
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
