package import EmulatorMessages

extension Backend {
    /// All endpoints of the backend, in the table that determines dispatch and access.
    package static let routes = RouteTable(Self.powerAuthRoutes + Self.mobileTokenRoutes + Self.cloudRoutes)

    /// Returns the endpoints of a generation of servers.
    package static func routes(of profile: EmulatorServerProfile) -> RouteTable<Route> {
        Self.routesByRelease[profile.release] ?? Self.routes
    }

    private static let routesByRelease = Dictionary(
        uniqueKeysWithValues: EmulatorServerProfile.Release.allCases.map { release in
            let profile = EmulatorServerProfile(release)
            return (release, RouteTable(Self.routes.routes.filter { profile.serves($0.path) }))
        }
    )

    /// The standard endpoints of PowerAuth.
    private static let powerAuthRoutes: [Route] =
        MajorVersion.allCases.flatMap { $0.rules.routes } + OwnActivationEndpoints.routes
        + SecureConfiguration.routes

    /// The Mobile Token API and related endpoints.
    private static let mobileTokenRoutes =
        OperationEndpoints.routes + PushEndpoints.routes + InboxEndpoints.routes
        + OIDCEndpoints.routes + ActivationTransfer.routes

    /// The cloud API, for a bank's backend.
    private static let cloudRoutes =
        RegistrationEndpoints.routes + CloudOperationEndpoints.routes + OfflineEndpoints.routes
        + AuthenticationEndpoints.routes + CloudMessageEndpoints.routes + CloudPushEndpoints.routes
        + ApplicationEndpoints.routes + CallbackEndpoints.routes + SecureConfiguration.administration
}
