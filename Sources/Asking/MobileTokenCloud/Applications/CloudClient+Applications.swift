import CloudCalls

extension CloudClient {
    /// An application, with the configuration for its clients.
    public struct Application: Sendable, Identifiable, CustomStringConvertible {
        private let wire: CloudAPI.Application

        init(_ wire: CloudAPI.Application) { self.wire = wire }

        /// The application's identifier.
        public var id: String { self.wire.id }
        /// The application's roles at the server.
        public var roles: [String] { self.wire.roles }
        /// The address of the server for its clients.
        public var serviceBaseURL: String { self.wire.serviceBaseURL }
        /// The configuration string for clients: key, secret and master public key.
        public var sdkConfiguration: String { self.wire.sdkConfiguration }

        /// The name of the type only.
        public var description: String { "Application" }
    }

    /// Creates an application. Requires an administrator's credentials.
    public func createApplication(id: String, roles: [String] = []) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.createApplication, CloudAPI.NewApplication(id: id, roles: roles)) {
            Application($0)
        }
    }

    /// Returns an application. Requires an administrator's credentials.
    public func application(_ id: String) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.showApplication, id) { Application($0) }
    }
}
