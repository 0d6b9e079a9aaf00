/// The settings of a backend.
package struct BackendConfiguration: Sendable {
    /// The identifier of the clients' application.
    package var applicationID: String
    /// The name in the response of `/pa/v3/status`.
    package var applicationName: String
    /// The cloud API's credentials; `nil` admits no request.
    package var cloudCredentials: BasicCredentials?
    package var limits = EmulatorLimits()
    package var capacity = EmulatorCapacity()
    package var protocolRules = EmulatorProtocolRules()
    /// The generation of real servers to emulate.
    package var profile = EmulatorServerProfile()
    /// Operation templates, a JSON document each, in addition to the built-in ones; one of the same name replaces it.
    package var templates: [String] = []
    /// The OpenID providers of a new state.
    package var oidcProviders: [EmulatorOIDCProvider] = []
    /// Additional endpoints.
    var routes: [Backend.Route] = []

    package init(applicationID: String, applicationName: String, cloudCredentials: BasicCredentials?) {
        self.applicationID = applicationID
        self.applicationName = applicationName
        self.cloudCredentials = cloudCredentials
    }
}
