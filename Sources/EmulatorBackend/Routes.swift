package import EmulatorMessages

extension Backend {
    /// Every endpoint of the backend: dispatch, access and capacity follow from this table.
    package static let routes = RouteTable(Self.powerAuthRoutes + Self.mobileTokenRoutes + Self.cloudRoutes)

    /// The standard endpoints of PowerAuth.
    private static let powerAuthRoutes: [Route] = MajorVersion.allCases.flatMap { $0.rules.routes }

    /// The Mobile Token API, and what belongs to it.
    private static let mobileTokenRoutes =
        OperationEndpoints.routes + PushEndpoints.routes + InboxEndpoints.routes
        + OIDCEndpoints.routes

    /// The cloud API, which a bank's backend calls.
    private static let cloudRoutes =
        RegistrationEndpoints.routes + CloudOperationEndpoints.routes + OfflineEndpoints.routes
        + AuthenticationEndpoints.routes + CloudMessageEndpoints.routes + CloudPushEndpoints.routes
        + ApplicationEndpoints.routes + CallbackEndpoints.routes + OIDCProviderEndpoints.routes
}
