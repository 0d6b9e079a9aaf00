package import EmulatorMessages

extension Backend {
    /// Every endpoint of the backend: dispatch and access follow from this table.
    package static let routes = RouteTable(Self.powerAuthRoutes + Self.mobileTokenRoutes + Self.cloudRoutes)

    /// Those that a generation of servers has.
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

    /// The Mobile Token API, and what belongs to it.
    private static let mobileTokenRoutes =
        OperationEndpoints.routes + PushEndpoints.routes + InboxEndpoints.routes
        + OIDCEndpoints.routes + ActivationTransfer.routes

    /// The cloud API, which a bank's backend calls.
    private static let cloudRoutes =
        RegistrationEndpoints.routes + CloudOperationEndpoints.routes + OfflineEndpoints.routes
        + AuthenticationEndpoints.routes + CloudMessageEndpoints.routes + CloudPushEndpoints.routes
        + ApplicationEndpoints.routes + CallbackEndpoints.routes + SecureConfiguration.administration
}
