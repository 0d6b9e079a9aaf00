/// What a backend is told at its start.
package struct BackendConfiguration: Sendable {
    /// The identifier of the application that clients are configured for.
    package var applicationID: String
    /// The name that `/pa/v3/status` tells.
    package var applicationName: String
    /// Those of the cloud API; `nil` lets nobody in.
    package var cloudCredentials: BasicCredentials?
    package var limits: EmulatorLimits
    package var capacity: EmulatorCapacity
    /// Operation templates, a JSON document each, beside the built-in ones; one of the same name replaces it.
    package var templates: [String]
    /// Endpoints beside those that every backend has.
    var routes: [Backend.Route] = []

    package init(
        applicationID: String,
        applicationName: String,
        cloudCredentials: BasicCredentials?,
        limits: EmulatorLimits,
        capacity: EmulatorCapacity,
        templates: [String]
    ) {
        self.applicationID = applicationID
        self.applicationName = applicationName
        self.cloudCredentials = cloudCredentials
        self.limits = limits
        self.capacity = capacity
        self.templates = templates
    }
}
