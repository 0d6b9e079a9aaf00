package import EmulatorMessages

extension CloudAPI {
    package static let createApplication = Self.endpoint(
        "POST",
        "/admin/applications",
        fills: true,
        "Creates an application.",
        takes: Call.body(NewApplication.form),
        gives: Application.form
    )

    package static let showApplication = Self.endpoint(
        "GET",
        "/admin/applications/{id}",
        "Shows an application.",
        takes: Call.segment("id"),
        gives: Application.form
    )

    /// An application that a bank asks for.
    package struct NewApplication: Described {
        package var id: String
        package var roles: [String]?

        package static let fields = FieldTable(
            "NewApplication",
            Self.init(id:roles:),
            .required("id", \.id, .word),
            .optional("roles", \.roles, .list(of: .string), "What the bank wants to know it by.")
        ).tolerant

        package init(id: String, roles: [String]?) { (self.id, self.roles) = (id, roles) }
    }

    /// An application in the words of the administration API, where the newer suites look up their configuration.
    package struct Application: Described {
        package var id: String
        package var serviceBaseURL: String
        package var key: String
        package var secret: String
        package var masterPublicKey: String
        package var sdkConfiguration: String
        package var roles: [String]

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
    }
}
