/// What a backend is told at its start.
package struct BackendConfiguration: Sendable {
    /// The identifier of the application that clients are configured for.
    package var applicationID: String
    /// The name that `/pa/v3/status` tells.
    package var applicationName: String
    /// The user and the password of the cloud API as `user:password`; `nil` lets nobody in.
    package var cloudCredentials: String?
    package var limits: EmulatorLimits
    package var capacity: EmulatorCapacity
    /// Operation templates, a JSON document each, beside the built-in ones; one of the same name replaces it.
    package var templates: [String]

    package init(
        applicationID: String,
        applicationName: String,
        cloudCredentials: String?,
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
