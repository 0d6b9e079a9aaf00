/// The settings of a backend.
package struct BackendConfiguration: Sendable {
    /// The identifier of the application that clients are configured for.
    package var applicationID: String
    /// The name in the response of `/pa/v3/status`.
    package var applicationName: String
    /// Those of the cloud API; `nil` admits no request.
    package var cloudCredentials: BasicCredentials?
    package var limits: EmulatorLimits
    package var capacity: EmulatorCapacity
    package var protocolRules: EmulatorProtocolRules
    /// The generation of real servers to behave as.
    package var profile: EmulatorServerProfile
    /// Operation templates, a JSON document each, beside the built-in ones; one of the same name replaces it.
    package var templates: [String]
    /// The OpenID providers that a new state begins with.
    package var oidcProviders: [EmulatorOIDCProvider]
    /// Endpoints beside those that every backend has.
    var routes: [Backend.Route] = []

    package init(
        applicationID: String,
        applicationName: String,
        cloudCredentials: BasicCredentials?,
        limits: EmulatorLimits = EmulatorLimits(),
        capacity: EmulatorCapacity = EmulatorCapacity(),
        protocolRules: EmulatorProtocolRules = EmulatorProtocolRules(),
        profile: EmulatorServerProfile = EmulatorServerProfile(),
        templates: [String] = [],
        oidcProviders: [EmulatorOIDCProvider] = []
    ) {
        self.applicationID = applicationID
        self.applicationName = applicationName
        self.cloudCredentials = cloudCredentials
        self.limits = limits
        self.capacity = capacity
        self.protocolRules = protocolRules
        self.profile = profile
        self.templates = templates
        self.oidcProviders = oidcProviders
    }
}
