import CloudCalls

extension CloudClient {
    /// An application, with what its clients are configured with.
    public struct Application: Sendable, Identifiable, CustomStringConvertible, CustomReflectable {
        private let wire: CloudAPI.Application

        init(_ wire: CloudAPI.Application) { self.wire = wire }

        /// The application's identifier.
        public var id: String { self.wire.id }
        /// The words that the back end knows it by.
        public var roles: [String] { self.wire.roles }
        /// The address of the server that its clients call.
        public var serviceBaseURL: String { self.wire.serviceBaseURL }
        /// The string that configures a client: key, secret and master public key.
        public var sdkConfiguration: String { self.wire.sdkConfiguration }

        /// The name of the type alone.
        public var description: String { "Application" }
        /// Empty, so that `dump` reveals no secret.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// Creates an application. Needs credentials of an administrator.
    public func createApplication(id: String, roles: [String] = []) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.createApplication, CloudAPI.NewApplication(id: id, roles: roles)) {
            Application($0)
        }
    }

    /// Returns an application. Needs credentials of an administrator.
    public func application(_ id: String) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.showApplication, id) { Application($0) }
    }
}
