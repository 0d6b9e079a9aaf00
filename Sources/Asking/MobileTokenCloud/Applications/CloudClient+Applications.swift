package import APIDescriptions

extension CloudClient {
    /// An application, with the configuration for its clients.
    public struct Application: Sendable, Identifiable, CustomStringConvertible {
        /// The application's identifier.
        public let id: String
        /// The address of the server for its clients.
        public let serviceBaseURL: String
        package let key: String
        package let secret: String
        package let masterPublicKey: String
        /// The configuration string for clients: key, secret and master public key.
        public let sdkConfiguration: String
        /// The application's roles at the server.
        public let roles: [String]

        package init(
            id: String,
            serviceBaseURL: String,
            key: String,
            secret: String,
            masterPublicKey: String,
            sdkConfiguration: String,
            roles: [String]
        ) {
            (self.id, self.serviceBaseURL, self.roles) = (id, serviceBaseURL, roles)
            (self.key, self.secret, self.masterPublicKey) = (key, secret, masterPublicKey)
            self.sdkConfiguration = sdkConfiguration
        }

        /// The name of the type only.
        public var description: String { "Application" }
    }

    /// Creates an application. Requires an administrator's credentials.
    public func createApplication(id: String, roles: [String] = []) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.createApplication, CloudAPI.NewApplication(id: id, roles: roles))
    }

    /// Returns an application. Requires an administrator's credentials.
    public func application(_ id: String) async throws -> CloudResponse<Application> {
        try await self.call(CloudAPI.showApplication, id)
    }
}

extension CloudClient.Application: Described {
    package static let fields = FieldTable(
        "ApplicationDetail",
        Self.init(id:serviceBaseURL:key:secret:masterPublicKey:sdkConfiguration:roles:),
        .required("id", \.id, .string),
        .required("serviceBaseUrl", \.serviceBaseURL, .string),
        .required("appKey", \.key, .base64),
        .required("appSecret", \.secret, .base64),
        .required("masterServerPublicKey", \.masterPublicKey, .base64),
        .required("mobileSdkConfig", \.sdkConfiguration, .string),
        .promised("roles", \.roles, .list(of: .string), or: [])
    )

    /// The members in a list of applications, under other names.
    package static let listed = FieldTable(
        "Application",
        {
            Self(
                id: $0,
                serviceBaseURL: "",
                key: $1,
                secret: $2,
                masterPublicKey: $3,
                sdkConfiguration: $4,
                roles: []
            )
        },
        .required("appId", \.id, .string),
        .required("applicationKey", \.key, .base64),
        .required("applicationSecret", \.secret, .base64),
        .required("masterServerPublicKey", \.masterPublicKey, .base64),
        .required("sdkConfiguration", \.sdkConfiguration, .string, "The string that configures a client.")
    )
}
